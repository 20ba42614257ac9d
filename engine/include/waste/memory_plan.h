#pragma once

#include "waste/result.h"

#include <cstdint>
#include <optional>
#include <string>

namespace waste {

class Container;

// When the vision tower of a model is in memory.
enum class VisionUse : std::uint8_t {
    Never,
    WhenNeeded, // from the first picture until Engine::releaseVision(); meanwhile its memory holds experts
    FromTheStart,
};

// What the machine offers (spec: streaming 7.2).
struct Machine {
    std::uint64_t physicalBytes = 0;
    std::uint64_t usableBytes = 0; // min(physical, cgroup limits); capacity, whatever is in use
    bool pages = false; // programs waited for memory during the last minute

    static Machine detect();
};

// How one RAM budget is divided. All in bytes. A pure function of model, context and machine; the
// engine's allocators use the same figures (spec: streaming 7.1 and 7.3).
struct MemoryPlan {
    struct Request {
        std::uint64_t budgetBytes = 0; // 0: choose by the rule of streaming 7.3
        std::uint32_t contextTokens = 4096;
        std::uint32_t threadCount = 0; // compute threads; 0: one per core
        std::uint32_t prefillChunkTokens = 0; // 0: as many as the budget has room for
        std::uint32_t conversationCount = 1; // sessions open at a time, each with its checkpoint
        VisionUse vision = VisionUse::Never;
        std::uint64_t programBytes = 0; // code, heap, stacks of the front end; 0: the command line's figure
    };
    // Which line of the rule of streaming 7.3 chose the budget.
    enum class Rule : std::uint8_t { Explicit, Everything, WorkingSets, SmallModel, Slice, Floor };

    std::uint32_t contextTokens = 0;
    std::uint64_t trunkBytes = 0;
    std::uint64_t stateBytes = 0; // sequence state of one conversation at full context, plus kept states
    std::uint64_t keptStateBytes = 0; // contained in stateBytes
    std::uint64_t scratchBytes = 0; // every other buffer, plus the program
    std::uint64_t programBytes = 0; // contained in scratchBytes
    std::uint32_t prefillChunkTokens = 0; // tokens that a prompt is read in: each expert once a chunk
    std::uint64_t largerChunkBytes = 0; // their buffers beyond scratchBytes; not part of the floor
    std::uint64_t visionBytes = 0; // FromTheStart; contained in floorBytes then
    std::uint64_t visionExtraBytes = 0; // else: what a picture adds; 0 without a tower
    bool visionFits = false; // the budget has room for it, beside or within the cache
    std::uint32_t visionSlotCount = 0; // WhenNeeded: so many of expertSlotCount make room for it
    std::uint64_t minimumExpertCacheBytes = 0;
    std::uint64_t floorBytes = 0;
    std::uint64_t recommendedBytes = 0;
    std::uint64_t workingSetBytes = 0; // record · k · MoE layers
    std::uint64_t allExpertsBytes = 0;
    std::uint64_t recordCount = 0; // experts of all layers
    std::uint64_t everythingBytes = 0; // the budget with a slot for each of them
    Machine machine;
    std::uint64_t budgetBytes = 0; // chosen or asked for
    std::uint64_t expertCacheBytes = 0;
    std::uint32_t expertSlotCount = 0; // at most recordCount
    Rule rule = Rule::Explicit;
    bool loweredForPaging = false; // half of what the rule gives above the floor, because the machine pages
    bool aboveSafeShare = false; // budget > 7/8 of usable RAM: the machine may page

    // The figures above for a container; also when the budget is below the floor (then budgetBytes
    // < floorBytes and expertCacheBytes = 0; without a requested budget it is what the machine can spare).
    // Errors: InvalidArgument.
    static Result<MemoryPlan> compute(const Container& container, const Request& request, const Machine& machine);

    // RamBudget with floor and remedy when the budget cannot work.
    [[nodiscard]] Status check() const;
};

} // namespace waste
