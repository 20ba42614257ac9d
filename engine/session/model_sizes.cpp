#include "session/model_sizes.h"

#include "container/codebooks.h"
#include "container/trunk.h"
#include "layers/decoder.h"
#include "layers/exact_weights.h"
#include "platform/threads.h"
#include "session/session_memory.h"

#include <string>

namespace waste {
namespace {

// Weights and experts: a container's stream, a checkpoint's are all resident as f32.
void addWeights(ModelSizes& sizes, const detail::ModelFiles& files)
{
    if (files.checkpoint() != nullptr) {
        sizes.trunkBytes = ExactWeights::residentBytes(files.config);
        return;
    }
    const Manifest& manifest = files.container()->manifest;
    sizes.trunkBytes = residentTrunkBytes(manifest) + Codebooks::residentBytes(manifest);
    sizes.recordBytes = manifest.geometry.strideBytes;
    for (const BankEntry& bank : manifest.banks)
        sizes.allExpertsBytes += bank.bytes;
    sizes.expertsPerToken = files.config.expertsPerToken;
    sizes.moeLayerCount = files.config.moeLayerCount();
    sizes.expertCount = files.config.expertCount;
}

Status checkRequest(const MemoryPlan::Request& request)
{
    if (request.prefillChunkTokens == 0 || request.prefillChunkTokens > kPrefillChunkTokensMax) {
        return Error{ErrorCode::InvalidArgument, "chunk",
            "a prefill chunk holds 1 to " + std::to_string(kPrefillChunkTokensMax) + " tokens"};
    }
    return {};
}

} // namespace

ModelSizes modelSizes(
    const detail::ModelFiles& files, const MemoryPlan::Request& request, std::uint32_t conversationCount)
{
    const ModelConfig& config = files.config;
    ModelSizes sizes;
    addWeights(sizes, files);
    sizes.stateFixedBytes = sequenceStateBytes(config, 0);
    sizes.stateBytesPerToken = sequenceStateBytes(config, 1) - sizes.stateFixedBytes;
    sizes.checkpointCount = conversationCount;
    sizes.conversationCount = conversationCount;

    const std::uint64_t buffersBytes = SessionMemory::bytes(config, request.contextTokens, request.prefillChunkTokens)
        - SessionMemory::stateBytes(config, request.contextTokens);
    sizes.scratchBytes = Decoder::scratchBytes(config, request.prefillChunkTokens, request.threadCount)
        + conversationCount * buffersBytes;
    return sizes;
}

Result<MemoryPlan> MemoryPlan::compute(const Container& container, const Request& request, const Machine& machine)
{
    WASTE_TRY_STATUS(checkRequest(request));
    Request complete = request;
    if (complete.threadCount == 0)
        complete.threadCount = physicalCoreCount();

    const detail::ModelFiles& files = container.files();
    WASTE_TRY(MemoryPlan plan, planMemory(modelSizes(files, complete, 1), complete, machine));
    const std::uint64_t oneConversationBytes = plan.floorBytes;
    // More conversations stay in RAM where all of them together cost less than a hundredth of the budget (spec:
    // streaming 7.1).
    for (std::uint32_t count = 2; count <= kConversationsMax; ++count) {
        WASTE_TRY(const MemoryPlan more, planMemory(modelSizes(files, complete, count), complete, machine));
        if (!more.check() || more.floorBytes - oneConversationBytes > more.budgetBytes / 100)
            break;
        plan = more;
        plan.conversationCount = count;
    }
    return plan;
}

} // namespace waste
