#pragma once

#include "waste/result.h"
#include "waste/types.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace waste {

struct DiskBenchmarkOptions {
    // A file, or a folder: then its files of at least 64 MiB are read, and where they are too few a test file is
    // written there and removed again.
    std::filesystem::path path;
    std::uint64_t recordBytes = 0; // of one random read, a multiple of 4096
    std::vector<std::uint32_t> depths = {1, 2, 4, 8}; // reads under way at a time
    std::chrono::milliseconds timePerRun = std::chrono::milliseconds(1500);
    std::uint64_t testFileBytes = std::uint64_t{2} << 30;
    bool directIo = true;
};

struct DiskBenchmarkReport {
    struct Random {
        std::uint32_t depth = 0;
        double bytesPerSecond = 0;
        double latencyMedianMs = 0;
        double latencyP95Ms = 0;
    };
    std::uint64_t fileBytes = 0; // of all files that were read
    bool wroteTestFile = false;
    bool directIo = false; // false: the page cache took part, and the figures may be those of RAM
    double sequentialBytesPerSecond = 0; // ascending, four reads of 4 MiB under way
    std::vector<Random> random; // in the order of the depths

    [[nodiscard]] double bestRandomBytesPerSecond() const;
};

// Reads as the engine reads experts, and in one go, for a few seconds each. Progress counts runs. Errors:
// NotFound, Io, NoSpace (test file), InvalidArgument (record size; a file that is smaller), Cancelled.
Result<DiskBenchmarkReport> measureDisk(
    const DiskBenchmarkOptions& options, const ProgressSink& progress = {}, const CancelFlag* cancel = nullptr);

} // namespace waste
