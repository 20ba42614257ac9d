#pragma once

#include "experts/expert_source.h"
#include "platform/direct_file.h"
#include "waste/result.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace waste {

// Where the cache reads expert records from: the banks of a container, or a test's disk. Immutable; any
// number of threads may call.
class RecordStore {
public:
    // Which experts there are. Mixture-of-experts layers follow each other without gaps.
    struct Grid {
        std::uint16_t firstLayer = 0;
        std::uint16_t layerCount = 0;
        std::uint32_t expertCount = 0; // per layer
        std::uint64_t recordBytes = 0; // of every record; a multiple of the device's block
    };

    static constexpr std::uint32_t kDrivesMax = 4; // more are read as if some were one

    virtual ~RecordStore() = default;
    [[nodiscard]] virtual const Grid& grid() const = 0;
    [[nodiscard]] virtual bool isDirect() const = 0; // no record comes through the page cache
    // Drives are read independently of each other. Every record lies on one of them, below driveCount().
    [[nodiscard]] virtual std::uint32_t driveCount() const { return 1; }
    [[nodiscard]] virtual std::uint32_t driveOf(ExpertKey) const { return 0; }

    // Reads and checks one record by one read. `target` is recordBytes long and aligned to a slot.
    // Errors: Io, Corrupt; they name file, layer and expert.
    virtual Status read(ExpertKey key, std::span<std::byte> target) const = 0;
    // Where a record lies, for who reads it in another way; no file: only read() reaches it. check() is then
    // the check of read() alone.
    struct Place {
        const DirectFile* file = nullptr;
        std::uint64_t offsetBytes = 0;
    };
    [[nodiscard]] virtual Place place(ExpertKey key) const = 0;
    [[nodiscard]] virtual Status check(ExpertKey key, std::span<const std::byte> record) const = 0;

    // The matrices inside a record that read() or check() accepted.
    [[nodiscard]] virtual ExpertView view(ExpertKey key, std::span<const std::byte> record) const = 0;
};

} // namespace waste
