#include "memory/memory_plan.h"

#include "base/checked.h"
#include "base/size_text.h"

#include <algorithm>
#include <limits>
#include <string>

namespace waste {
namespace {

constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30;
// Up to this working set a model counts as small: more than three working sets still pays (streaming 7.3).
constexpr std::uint64_t kSmallWorkingSetBytes = 2 * kGibibyte;
// A longer prefill chunk may take this share of what is left for the cache above its minimum. It saves more reads than
// the slots would: 512 tokens choose most of a layer's experts, whatever the cache holds of them.
constexpr std::uint64_t kLargerChunkShare = 4;

// A sum or product that overflows stays at the largest number, and planMemory() refuses it.
struct Saturated {
    std::uint64_t value = 0;

    friend Saturated operator+(Saturated a, Saturated b)
    {
        return {checkedAdd(a.value, b.value).value_or(std::numeric_limits<std::uint64_t>::max())};
    }
    friend Saturated operator*(Saturated a, Saturated b)
    {
        return {checkedMultiply(a.value, b.value).value_or(std::numeric_limits<std::uint64_t>::max())};
    }
};

struct Choice {
    std::uint64_t budgetBytes = 0;
    MemoryPlan::Rule rule = MemoryPlan::Rule::Explicit;
};

// The longest chunk that is worth its scratch, if that many bytes are left above the floor.
ModelSizes::PrefillChunk longestChunk(const ModelSizes& sizes, std::uint64_t leftBytes)
{
    ModelSizes::PrefillChunk longest;
    for (const ModelSizes::PrefillChunk& chunk : sizes.prefillChunks) {
        if (chunk.extraBytes <= leftBytes / kLargerChunkShare)
            longest = chunk;
    }
    return longest;
}

std::uint64_t safeShareBytes(const Machine& machine)
{
    return machine.usableBytes - machine.usableBytes / 8;
}

// The minimum cache is in the floor already. A larger budget reads prompts in longer chunks, which take their part of
// it, so that goes on until there is none longer.
std::uint64_t everythingBytes(const MemoryPlan& plan, const ModelSizes& sizes)
{
    const std::uint64_t slots = plan.recordCount * slotBytes(sizes.recordBytes);
    const std::uint64_t missing = std::max(plan.allExpertsBytes, slots - std::min(slots, plan.minimumExpertCacheBytes));
    std::uint64_t left = missing;
    while (left < missing + longestChunk(sizes, left).extraBytes)
        left = missing + longestChunk(sizes, left).extraBytes;
    return plan.floorBytes + left;
}

// The rule of streaming 7.3, in its order.
Choice chooseBudget(const MemoryPlan& plan, const ModelSizes& sizes)
{
    using Rule = MemoryPlan::Rule;
    const std::uint64_t usable = plan.machine.usableBytes;
    const std::uint64_t cap = safeShareBytes(plan.machine);
    const std::uint64_t floor = plan.floorBytes;
    if (floor > cap)
        return {cap, Rule::Floor}; // refused by check()
    const std::uint64_t everything = plan.everythingBytes;
    if (everything <= usable / 5 * 3)
        return {everything, Rule::Everything};
    for (std::uint64_t count = 3; count >= 1; --count) {
        const std::uint64_t budget = floor + count * plan.workingSetBytes;
        if (budget > usable / 4 * 3)
            continue;
        const std::uint64_t half = std::min(everything, usable / 2);
        if (plan.workingSetBytes <= kSmallWorkingSetBytes && half > budget)
            return {half, Rule::SmallModel};
        return {budget, Rule::WorkingSets};
    }
    const std::uint64_t slice = std::min(cap - floor, plan.workingSetBytes / 5);
    const std::uint64_t slots =
        (plan.minimumExpertCacheBytes + slice) / std::max<std::uint64_t>(1, slotBytes(sizes.recordBytes));
    if (slots >= std::uint64_t{4} * sizes.expertsPerToken)
        return {floor + slice, Rule::Slice};
    return {floor, Rule::Floor};
}

// A machine that pages already is not helped by a second large program: a smaller cache is then the faster one.
void lowerForPaging(MemoryPlan& plan)
{
    if (!plan.machine.pages || plan.rule == MemoryPlan::Rule::Explicit || plan.budgetBytes <= plan.floorBytes)
        return;
    plan.budgetBytes = plan.floorBytes + (plan.budgetBytes - plan.floorBytes) / 2;
    plan.loweredForPaging = true;
}

// A tower that comes with the first picture takes its memory from the cache. Where the cache would have none to
// give, or would no longer hold every record, a budget of our own choice grows by it.
void makeRoomForVision(MemoryPlan& plan, std::uint64_t visionBytes)
{
    const std::uint64_t spare = plan.rule == MemoryPlan::Rule::Everything || plan.budgetBytes < plan.floorBytes
        ? 0
        : plan.budgetBytes - plan.floorBytes;
    const std::uint64_t grown = std::min(plan.budgetBytes + visionBytes, safeShareBytes(plan.machine));
    if (spare < visionBytes && grown >= plan.floorBytes + visionBytes)
        plan.budgetBytes = std::max(plan.budgetBytes, grown);
}

// A chunk for prefill, and the cache with the rest of the budget.
void divideBudget(MemoryPlan& plan, const ModelSizes& sizes, VisionUse vision)
{
    const std::uint64_t left = plan.budgetBytes - std::min(plan.budgetBytes, plan.floorBytes);
    plan.visionFits = sizes.visionBytes > 0 && vision != VisionUse::Never && left >= plan.visionExtraBytes;
    const std::uint64_t forVision = plan.visionFits ? plan.visionExtraBytes : 0;
    const ModelSizes::PrefillChunk chunk = longestChunk(sizes, left - forVision);
    plan.prefillChunkTokens = chunk.tokens;
    plan.largerChunkBytes = chunk.extraBytes;
    if (plan.budgetBytes < plan.floorBytes || sizes.expertCount == 0)
        return;
    plan.expertCacheBytes = left - plan.largerChunkBytes + plan.minimumExpertCacheBytes;
    const auto slots = [&](std::uint64_t bytes) {
        return static_cast<std::uint32_t>(std::min(plan.recordCount, bytes / slotBytes(sizes.recordBytes)));
    };
    plan.expertSlotCount = slots(plan.expertCacheBytes);
    plan.visionSlotCount = plan.expertSlotCount - slots(plan.expertCacheBytes - forVision);
}

// "63 MiB is less than 63 MiB" would help nobody.
std::string smallerSizeText(std::uint64_t bytes, std::uint64_t largerBytes)
{
    const std::string text = sizeText(bytes);
    return text == sizeText(largerBytes) ? std::to_string(bytes) + " bytes" : text;
}

} // namespace

std::uint64_t slotBytes(std::uint64_t recordBytes)
{
    return roundUp(recordBytes, kSlotAlignment);
}

Result<MemoryPlan> planMemory(const ModelSizes& sizes, const MemoryPlan::Request& request, const Machine& machine)
{
    if (request.contextTokens == 0)
        return Error{ErrorCode::InvalidArgument, "context", "the context must hold at least one token"};
    const Saturated context{request.contextTokens};
    const Saturated record{sizes.recordBytes};
    const Saturated k{sizes.expertsPerToken};
    const Saturated fullState = Saturated{sizes.stateFixedBytes} + Saturated{sizes.stateBytesPerToken} * context;
    const Saturated kept = Saturated{sizes.checkpointCount} * Saturated{sizes.stateFixedBytes}
        + Saturated{std::max(1U, sizes.conversationCount) - 1} * fullState;

    MemoryPlan plan;
    plan.contextTokens = request.contextTokens;
    plan.machine = machine;
    plan.trunkBytes = sizes.trunkBytes;
    plan.keptStateBytes = kept.value;
    plan.stateBytes = (fullState + kept).value;
    plan.programBytes = request.programBytes != 0 ? request.programBytes : kProgramBytes;
    plan.scratchBytes = (Saturated{sizes.scratchBytes} + Saturated{plan.programBytes}).value;
    const bool isAtOnce = request.vision == VisionUse::FromTheStart;
    plan.visionExtraBytes = isAtOnce ? 0 : sizes.visionBytes;
    plan.visionBytes = isAtOnce ? sizes.visionBytes : 0;
    plan.allExpertsBytes = sizes.allExpertsBytes;
    plan.recordCount = std::uint64_t{sizes.moeLayerCount} * sizes.expertCount;
    plan.workingSetBytes = (record * k * Saturated{sizes.moeLayerCount}).value;
    // Two tokens' experts of one layer, and a slot for each expert of one even where records are tiny.
    if (sizes.expertCount > 0)
        plan.minimumExpertCacheBytes =
            std::max((Saturated{2} * k * record).value, (k * Saturated{slotBytes(sizes.recordBytes)}).value);

    const Saturated floor = Saturated{plan.trunkBytes} + Saturated{plan.stateBytes} + Saturated{plan.scratchBytes}
        + Saturated{plan.minimumExpertCacheBytes} + Saturated{plan.visionBytes};
    const Saturated recommended = floor + Saturated{3} * Saturated{plan.workingSetBytes};
    const Saturated everything = recommended + Saturated{plan.allExpertsBytes}
        + Saturated{sizes.moeLayerCount} * Saturated{sizes.expertCount} * (record + Saturated{kSlotAlignment});
    if (everything.value == std::numeric_limits<std::uint64_t>::max())
        return Error{ErrorCode::Unsupported, "too_large", "the model's sizes exceed what 64 bits can count"};
    plan.floorBytes = floor.value;
    plan.recommendedBytes = recommended.value;
    plan.everythingBytes = everythingBytes(plan, sizes);

    const Choice choice =
        request.budgetBytes != 0 ? Choice{request.budgetBytes, MemoryPlan::Rule::Explicit} : chooseBudget(plan, sizes);
    plan.budgetBytes = choice.budgetBytes;
    plan.rule = choice.rule;
    lowerForPaging(plan);
    plan.aboveSafeShare = plan.budgetBytes > safeShareBytes(machine);
    if (request.budgetBytes == 0 && request.vision == VisionUse::WhenNeeded)
        makeRoomForVision(plan, sizes.visionBytes);
    divideBudget(plan, sizes, request.vision);
    return plan;
}

Status MemoryPlan::check() const
{
    if (budgetBytes >= floorBytes)
        return {};
    const std::string context = " at a context of " + std::to_string(contextTokens) + " tokens";
    Error error{ErrorCode::RamBudget, "ram_budget", {}};
    if (rule == Rule::Explicit) {
        error.message = "a budget of " + smallerSizeText(budgetBytes, floorBytes) + " is below this model's floor"
            + context + "; give it at least " + sizeText(floorBytes)
            + ", or shorten the context, use fewer threads or leave pictures out";
    } else {
        error.message = "this model needs at least " + sizeText(floorBytes) + " of RAM" + context
            + ", and this machine can spare " + smallerSizeText(budgetBytes, floorBytes) + " of its "
            + sizeText(machine.usableBytes) + "; shorten the context, or set a budget of " + sizeText(floorBytes)
            + " yourself and accept that the machine may page";
    }
    return error;
}

} // namespace waste
