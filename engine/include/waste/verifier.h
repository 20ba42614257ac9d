#pragma once

#include "waste/container.h"
#include "waste/result.h"
#include "waste/types.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace waste {

// One damaged place of a container. `error` says what and why, in words and as a reason.
struct Damage {
    std::string file;
    std::string tensor = {}; // of trunk.bin, else empty
    std::optional<std::uint32_t> layer = {}; // of a bank
    std::optional<std::uint32_t> expert = {};
    std::uint64_t offset = 0; // in the file
    Error error;
};

struct VerifyOptions {
    bool headersOnly = false; // the records' headers and nothing of the trunk: fast, finds files that were mixed up
    std::optional<std::uint32_t> layer = {}; // only this layer's bank
};

struct VerifyReport {
    std::uint64_t recordsChecked = 0;
    std::uint64_t damageCount = 0; // places told to onDamage
    std::uint64_t bytesRead = 0;
};

// Reads an opened container through, checksums included, and tells every damage it finds: damage never ends the
// pass, and where a disk fails every record that cannot be read is told. Progress stages are "trunk" and
// "experts", in bytes of the whole work. Any thread. Errors: Cancelled, InvalidArgument (not a MoE layer),
// Unsupported (a published checkpoint: it has no checksums), OutOfMemory, and what opening a file returns.
Result<VerifyReport> verifyContainer(const Container& container, const VerifyOptions& options,
    const std::function<void(const Damage&)>& onDamage, const ProgressSink& progress, const CancelFlag& cancel);

} // namespace waste
