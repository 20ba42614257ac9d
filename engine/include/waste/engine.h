#pragma once

#include "waste/container.h"
#include "waste/memory_plan.h"
#include "waste/picture.h"
#include "waste/result.h"
#include "waste/types.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace waste {

class Session;

enum class CachePolicy : std::uint8_t { Age, Lfru, Lru };

struct EngineOptions {
    std::uint64_t budgetBytes = 0; // 0: the rule of the memory plan
    std::uint32_t contextTokens = 4096;
    std::uint32_t threadCount = 0; // compute threads; 0: one per core
    std::vector<std::uint32_t> cpus; // pin compute threads to these; one that is not there is an error. Empty: anywhere
    std::uint32_t prefillChunkTokens = 0; // 1: token at a time; 0: what the memory plan chooses
    std::uint32_t conversationCount = 1; // sessions open at a time
    CachePolicy cachePolicy = CachePolicy::Age;
    // Experts of the next layer that are read on a guess while a token is decoded and the disk is idle; empty: as many
    // as pay on this machine. Two on a first guess may come to that. 0: none, nor for long pieces of a prompt, whose
    // guesses are up to 64 otherwise.
    std::optional<std::uint32_t> lookahead = {};
    bool verifyRecords = false; // checksum of each expert record when it is read
    bool directIo = true;
    bool asyncIo = true; // io_uring where the system allows it, else reader threads; speed alone
    bool lockTrunk = false; // keep what every token needs from being paged out; a refusal is a warning
    // The learned hot list (spec: streaming 8); empty: usage.waste of the container. What it names is read in
    // the background. A list that cannot be used is a warning.
    std::filesystem::path usageFile;
    bool learn = false; // save it when the engine closes
    bool exact = false; // no reduced kernel
    VisionUse vision = VisionUse::Never;
    std::uint64_t programBytes = 0; // see MemoryPlan::Request
    LogSink log;
};

// Counters since open. A snapshot; reading never blocks a running generation.
struct Statistics {
    std::uint64_t tokensPrefilled = 0;
    std::uint64_t tokensDecoded = 0;
    std::uint64_t expertHits = 0; // demand accesses found in the cache
    std::uint64_t expertMisses = 0;
    std::uint64_t bytesRead = 0; // expert records
    std::uint64_t readsIssued = 0;
    std::uint64_t evictions = 0;
    std::uint64_t speculativeIssued = 0; // reads on a guess; those that were named next, and those that were not
    std::uint64_t speculativeUseful = 0;
    std::uint64_t speculativeWasted = 0;
    double prefillMs = 0;
    double decodeMs = 0;
    double readWaitMs = 0; // time the token loop was blocked by reads
    double diskBusyMs = 0; // time during which at least one read was under way
    double computeMs = 0; // the rest of prefill and decode
    double readLatencyMedianMs = 0; // of one expert record
    double readLatency95Ms = 0;
    double readLatencyMaxMs = 0;
    double readBytesPerSecond = 0; // while the disk was busy
    double openBytesPerSecond = 0; // when the trunk was read, checked and bound
    std::uint32_t slotsUsed = 0;
    std::uint32_t slotCount = 0;
    bool directIo = false; // false if any bank is read through the page cache
    bool asyncIo = false; // reads go through io_uring
};

// Resident trunk, expert cache and worker threads of one opened model.
//
// Any thread may call; one generation runs at a time over all sessions (a second one gets Busy).
// Sessions keep the engine's internals alive, so the order of destruction does not matter.
class Engine {
public:
    // Reads the trunk; stages "trunk", "codebooks", "weights". Errors: Io, Corrupt, RamBudget,
    // OutOfMemory, Unsupported, Cancelled; InvalidArgument (a CPU that is not there).
    static Result<std::unique_ptr<Engine>> open(std::shared_ptr<const Container> container,
        const EngineOptions& options, const ProgressSink& progress = {}, const CancelFlag* cancel = nullptr);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    // A conversation at position 0. Allocates its state from the plan. Errors: OutOfMemory, Busy when
    // the planned number of open conversations is reached.
    Result<std::unique_ptr<Session>> createSession();

    // The rows [positions][hidden] of one picture, for AppendOptions::pictureRows; `file` is the whole file,
    // `name` names it in messages. Counts as a generation. Progress: "tower" in bytes while it is read (see
    // VisionUse), then "vision" in its blocks; a cancel is seen between them. Errors: Unsupported (opened without
    // vision), RamBudget (no room for the tower), Io with reason invalid_image, Cancelled, OutOfMemory, Busy.
    Result<std::vector<float>> encodePicture(std::span<const std::byte> file, std::string_view name,
        const ProgressSink& progress = {}, const CancelFlag* cancel = nullptr,
        PictureDetail detail = PictureDetail::Full);
    // Puts the vision tower out of memory until the next picture; what it held is the expert cache's again.
    // Error: Busy.
    Status releaseVision();
    [[nodiscard]] bool isVisionLoaded() const;

    // Saves the learned hot list now. Errors: Io, NoSpace; Unsupported where everything is in memory.
    [[nodiscard]] Status saveUsage() const;

    [[nodiscard]] const Container& container() const;
    [[nodiscard]] const MemoryPlan& plan() const;
    // SHA-256 over everything that decides the numbers of this model (spec: model 9.1), hexadecimal. A
    // saved state can be continued only by an engine with the same one.
    [[nodiscard]] std::string fingerprint() const;
    // The same of what decides the rows of a picture; empty where it cannot be told from the model's small files,
    // or there is no tower: rows are then not worth keeping.
    [[nodiscard]] std::string visionFingerprint() const;
    [[nodiscard]] std::uint32_t threadCount() const; // that compute
    [[nodiscard]] std::string backend() const; // the kernel table in use: "scalar", "avx2", ...
    [[nodiscard]] bool exactKernels() const;
    [[nodiscard]] Statistics statistics() const;

    struct Internals;

private:
    explicit Engine(std::shared_ptr<Internals> internals);
    std::shared_ptr<Internals> m_internals;
};

} // namespace waste
