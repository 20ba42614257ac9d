#pragma once

#include "waste/memory_plan.h"
#include "waste/result.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace waste {

// What `waste doctor` looks at. Facts only; what they mean for a model is for the front end to say.
struct MachineFacts {
    enum class HugePages : std::uint8_t { Unknown, Always, OnRequest, Never };
    enum class IoUring : std::uint8_t { Absent, Refused, Available };

    Machine memory;
    std::uint32_t controlGroupVersion = 0; // that could limit memory: 1 or 2; 0: none
    std::uint64_t availableBytes = 0; // free or quickly freed at this moment; 0: not known
    std::uint64_t swapBytes = 0;
    std::uint64_t lockableBytes = 0; // that this user may lock; UINT64_MAX: any number
    HugePages hugePages = HugePages::Unknown;
    IoUring ioUring = IoUring::Absent;
    std::uint32_t logicalCpus = 0;
    std::uint32_t physicalCores = 0;

    static MachineFacts detect();
};

// The drive that holds a file or folder.
struct DriveFacts {
    enum class Kind : std::uint8_t { Unknown, Nvme, SolidState, Rotating, Virtual, Network, Memory };

    Kind kind = Kind::Unknown;
    std::string device; // as the system calls it; empty: not known
    std::string fileSystem; // the same
    std::uint64_t freeBytes = 0;
    std::optional<bool> directIo; // reads can bypass the page cache; empty: no file there to try it with

    // Errors: NotFound, Io.
    static Result<DriveFacts> of(const std::filesystem::path& path);
};

} // namespace waste
