#pragma once

#include "container/container_files.h"
#include "container/verification.h"
#include "waste/result.h"
#include "waste/types.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace waste {

// One damaged place. `error` says what and why in words and as a reason.
struct Damage {
    std::string file;
    std::string tensor; // of trunk.bin
    std::optional<std::uint32_t> layer; // of a bank
    std::optional<std::uint32_t> expert;
    std::uint64_t offset = 0; // in the file
    Error error;
};

struct VerifyOptions {
    Verification verification = Verification::Full; // Headers: the banks' record headers only
    std::optional<std::uint32_t> layer; // only this layer's bank
};

struct VerifyReport {
    std::uint64_t recordsChecked = 0;
    std::uint64_t damageCount = 0;
    std::uint64_t bytesRead = 0;
};

// Reads a whole container and reports every damage found; a damaged record does not end the pass, a failing
// disk is one damage per record. Progress stages: "trunk" and "experts", in bytes. Any thread.
// Errors: Cancelled, InvalidArgument (no such MoE layer), Io (a file cannot be opened).
Result<VerifyReport> verifyContainer(const ContainerFiles& files, const VerifyOptions& options,
    const std::function<void(const Damage&)>& onDamage, const ProgressSink& progress, const CancelFlag& cancel);

} // namespace waste
