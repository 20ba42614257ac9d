#pragma once

#include "waste/result.h"
#include "waste/types.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace waste {

// How routed experts are stored: 3 bits a weight as packed 4 x 64 codebook entries, which is faster to read, or as
// 3 x 256, which older readers of the format know as well; or 2 bits.
enum class ExpertFormat : std::uint8_t { Vq3r, Vq4p, Vq2r };

// What happens to source shards that are fully converted.
enum class Reclaim : std::uint8_t { Off, Dry, On }; // kept; kept, but reported; deleted for good

// How much work goes into finding codes for experts: at the same size, less of a weight is lost.
enum class ConvertQuality : std::uint8_t { Fast, Default, Best };

struct ConvertOptions {
    std::filesystem::path source; // a published checkpoint
    std::filesystem::path target; // the .waste directory; made if it does not exist
    // On other drives: experts' banks lie in the container's own folder and in these in turn, so that several drives
    // are read at the same time. The container then has links to them.
    std::vector<std::filesystem::path> bankFolders;
    std::uint32_t threadCount = 0; // 0: one per core. The bytes written do not depend on it
    ExpertFormat expertFormat = ExpertFormat::Vq4p;
    ConvertQuality quality = ConvertQuality::Default;
    std::uint32_t trunkBits = 4; // 3, 4 or 8
    // The source is still being downloaded by us: take verified shards as they come, wait for the others.
    bool follow = false;
    // A deleted shard cannot be had back: repairs and other settings then need another download. Only shards of a
    // download of ours are deleted, unless `canDownloadAgain` says that the source may be lost.
    Reclaim reclaim = Reclaim::Off;
    bool canDownloadAgain = false;
    // Replaces what the target holds, even if it came from other weights or other settings.
    bool force = false;
    std::string sourceRepository; // recorded as provenance; may be empty
    std::string sourceRevision;
    std::string created; // ISO 8601, recorded; empty: now
    LogSink log;
};

// Relative Frobenius errors ‖W − R‖ / ‖W‖ over all experts of one layer.
struct ExpertErrors {
    double gate = 0;
    double up = 0;
    double down = 0;
};

// What convert() reports while it works, in this order: one plan, then layers and progress, then done.
struct ConvertPlan {
    std::string settings; // as recorded in the model: "VQ4P default, trunk 4 bits, version 3"
    std::uint64_t containerBytes = 0; // of banks, codebooks and trunk when it is finished
    std::vector<std::uint32_t> layers; // MoE layers to convert
    std::vector<std::uint32_t> layersKept; // finished by an earlier run
    std::uint64_t trunkBytes = 0; // all of it
    std::uint64_t trunkBytesKept = 0; // finished by an earlier run
    std::uint64_t memoryBytes = 0; // the conversion needs at most, besides the program
    std::uint64_t expertBytes = 0; // of all layers, the kept ones included
    std::uint64_t expertCount = 0; // likewise
};
struct ConvertLayerStart {
    std::uint32_t layer = 0;
};
// The drive is full, or the next shard has not come yet. The conversion goes on by itself, and can be cancelled safely.
struct ConvertWaiting {
    enum class Cause : std::uint8_t { NoSpace, Download };
    Cause cause = Cause::NoSpace;
    std::uint64_t bytesNeeded = 0; // by the file in work
    std::uint64_t bytesFree = 0;
};
struct ConvertLayerDone {
    std::uint32_t layer = 0;
    std::uint64_t bytes = 0; // of its bank
    ExpertErrors errors;
    double seconds = 0;
};
// A source shard that nothing is needed of any more.
struct ConvertReclaimed {
    std::string shard;
    std::uint64_t bytes = 0;
    std::uint64_t freedBytes = 0; // with all before
    bool isDeleted = false; // with Reclaim::On
};
struct ConvertReport {
    std::uint64_t containerBytes = 0;
    std::uint32_t layersConverted = 0;
    std::uint32_t layersKept = 0;
    ExpertErrors errors; // means over the layers
    double trunkError = 0; // relative Frobenius, over all quantised tensors of the trunk; 0 if a whole trunk was kept
    std::vector<std::string> warnings;
    double seconds = 0;
};
// Progress counts bytes of the container; its stages are "checking" (what an earlier run has left, before the
// plan), "trunk" and "experts".
using ConvertEvent = std::variant<ConvertPlan, ConvertLayerStart, Progress, ConvertWaiting, ConvertLayerDone,
    ConvertReclaimed, ConvertReport>;
using ConvertSink = std::function<void(const ConvertEvent&)>;

// Converts a published checkpoint into a container. Blocks; `sink` is called on the calling thread.
//
// The target becomes a container in one step at the very end. What was finished before an interruption of
// any kind is kept: calling again with the same options goes on and ends with the same bytes. One conversion
// of a target at a time; a second one gets Busy.
//
// Errors: NotFound (no checkpoint), Io, NoSpace (from the start; message has the bytes needed), Corrupt, Unsupported,
// InvalidArgument (target holds something else, target inside source, shards that must not be deleted), Busy,
// Cancelled.
Result<ConvertReport> convert(
    const ConvertOptions& options, const ConvertSink& sink = {}, const CancelFlag* cancel = nullptr);

} // namespace waste
