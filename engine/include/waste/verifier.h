#pragma once

#include "waste/container.h"
#include "waste/result.h"
#include "waste/types.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
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
    // Where nothing is damaged, write integrity.json from what was read: sizes and checksums of all files. Not with
    // the members above.
    bool writeIntegrity = false;
};

struct VerifyReport {
    std::uint64_t recordsChecked = 0;
    std::uint64_t damageCount = 0; // places told to onDamage
    std::uint64_t bytesRead = 0;
    bool integrityChecked = false; // the container has an integrity.json, and its files were compared with it
};

// Reads an opened container through, checksums included, and tells every damage it finds: damage never ends the
// pass, and where a disk fails every record that cannot be read is told. Progress stages are "trunk", "experts" and
// "files", in bytes of the whole work. Any thread. Errors: Cancelled, InvalidArgument (not a MoE layer),
// Unsupported (a published checkpoint: it has no checksums), OutOfMemory, and what opening a file returns.
Result<VerifyReport> verifyContainer(const Container& container, const VerifyOptions& options,
    const std::function<void(const Damage&)>& onDamage, const ProgressSink& progress, const CancelFlag& cancel);

struct CompareOptions {
    std::filesystem::path container;
    std::filesystem::path checkpoint; // what it was converted from
    std::optional<std::uint32_t> layer = {}; // only the experts of this layer
    std::uint32_t threadCount = 0; // 0: one per core
};

// Relative Frobenius errors ‖W − R‖ / ‖W‖ of stored weights R against published ones W.
struct SourceComparison {
    // Mean over the matrices of a kind in a layer: "gate", "up", "down" of its experts, and quantised matrices of the
    // trunk by what follows the layer in their name ("self_attn.q_proj").
    std::map<std::uint32_t, std::map<std::string, double>> byLayer;
    std::map<std::string, double> outside; // quantised tensors of no layer, by their name
    double expertError = 0; // mean over matrices
    double trunkError = 0; // mean over quantised tensors
    std::uint64_t matrixCount = 0; // compared
    std::uint64_t damageCount = 0; // matrices told to onDamage
    std::uint64_t bytesRead = 0; // of the container
};

// Compares every weight of a container with its source. A matrix that is too far from it to have been made of it, or
// stored exactly and yet different, is told as damage (reason source) and does not end the pass. Blocks; `onDamage`
// and `progress` are called on the calling thread. Progress stages are "trunk" and "experts", in bytes of the
// container. Errors: NotFound, Io, Corrupt, Unsupported, Cancelled, and InvalidArgument where the checkpoint lacks a
// tensor, or has one of another shape.
Result<SourceComparison> compareWithSource(const CompareOptions& options,
    const std::function<void(const Damage&)>& onDamage, const ProgressSink& progress, const CancelFlag& cancel);

} // namespace waste
