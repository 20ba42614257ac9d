#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>

namespace waste::test {

// Makes the operating system's file calls fail, for as long as it lives and for all threads of this test
// program. The product knows nothing of it: the program's own pread, pwrite, ... stand before the C
// library's. One at a time; Linux only, elsewhere isSupported() is false and nothing fails.
class FailingDisk {
public:
    // Open: for whatever purpose; Create: of a file that may be new. Resize: of a file. Link: a symbolic one. Flush: of
    // files and of folders. Close: of a file that could be written; it closes all the same, as the system does.
    enum class Call : std::uint8_t {
        Read,
        Write,
        Flush,
        Close,
        Rename,
        Remove,
        Open,
        Create,
        MakeFolder,
        Resize,
        Link
    };
    struct Plan {
        Call call = Call::Read;
        std::uint32_t firstFailing = 1; // counts from 1
        std::uint32_t failingCount = UINT32_MAX; // of consecutive calls
        int error = 0; // errno; 0: none fails
        std::size_t transferBytesMax = SIZE_MAX; // reads and writes move no more at once
    };

    explicit FailingDisk(const Plan& plan);
    ~FailingDisk();
    FailingDisk(const FailingDisk&) = delete;
    FailingDisk& operator=(const FailingDisk&) = delete;

    [[nodiscard]] std::uint32_t callCount() const; // of the planned kind, since construction
    // What was read of a file since construction, whatever is planned.
    struct Reads {
        std::uint64_t bytes = 0;
        std::uint64_t cachedBytes = 0; // those that the page cache may have answered
        std::set<std::uint64_t> offsets; // where the reads began
    };
    [[nodiscard]] Reads readsOf(const std::filesystem::path& file) const;
    static bool isSupported();
};

} // namespace waste::test
