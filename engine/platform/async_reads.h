#pragma once

#include "platform/direct_file.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace waste {

// Reads that the system carries out while the caller does something else: io_uring on Linux.
//
// One thread starts reads and waits for them; wake() is for any thread. The end of the object waits for the
// reads under way. Nothing is allocated after create().
class AsyncReads {
public:
    struct Done {
        std::uint32_t tag = 0;
        bool isWhole = false; // else failed or cut short; DirectFile::readExactly() says why, or succeeds
    };

    // Null where the system has no such reads or forbids them, as many sandboxes do.
    static std::unique_ptr<AsyncReads> create(std::uint32_t depth);
    virtual ~AsyncReads() = default;

    // At most `depth` at a time, tags below `depth`, and alignment as for the file. Begins with the next
    // wait().
    virtual void start(
        const DirectFile& file, std::uint64_t offsetBytes, std::span<std::byte> target, std::uint32_t tag) = 0;
    // Blocks until a read has ended or somebody calls wake(). Valid until the next call; may be empty.
    virtual std::span<const Done> wait() = 0;
    virtual void wake() = 0;
};

} // namespace waste
