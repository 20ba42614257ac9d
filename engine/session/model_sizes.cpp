#include "session/model_sizes.h"

#include "container/codebooks.h"
#include "container/trunk.h"
#include "experts/expert_cache.h"
#include "layers/decoder.h"
#include "layers/exact_weights.h"
#include "platform/threads.h"
#include "session/session_memory.h"
#include "session/vision_model.h"

#include <string>

namespace waste {
namespace {

// As if there were a slot for every record: 40 bytes a record are little beside it.
std::uint64_t cacheBookkeepingBytes(const ModelConfig& config)
{
    const std::uint32_t records = config.moeLayerCount() * config.expertCount;
    return ExpertCache::bookkeepingBytes({.firstLayer = static_cast<std::uint16_t>(config.denseLayerCount),
                                             .layerCount = static_cast<std::uint16_t>(config.moeLayerCount()),
                                             .expertCount = config.expertCount},
        records);
}

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
    sizes.scratchBytes = cacheBookkeepingBytes(files.config);
    sizes.expertsPerToken = files.config.expertsPerToken;
    sizes.moeLayerCount = files.config.moeLayerCount();
    sizes.expertCount = files.config.expertCount;
}

Status checkRequest(const MemoryPlan::Request& request)
{
    if (request.prefillChunkTokens > kPrefillChunkTokensMax) {
        return Error{ErrorCode::InvalidArgument, "chunk",
            "a prefill chunk holds at most " + std::to_string(kPrefillChunkTokensMax) + " tokens"};
    }
    if (request.conversationCount == 0 || request.conversationCount > kConversationsMax) {
        return Error{ErrorCode::InvalidArgument, "conversations",
            "1 to " + std::to_string(kConversationsMax) + " conversations can be open at a time"};
    }
    return {};
}

// Everything that grows with the chunk: the decoder's scratch and the chunks in flight.
std::uint64_t chunkBytes(const ModelConfig& config, const MemoryPlan::Request& request, std::uint32_t chunkTokens)
{
    const std::uint64_t buffersBytes = SessionMemory::bytes(config, request.contextTokens, chunkTokens)
        - SessionMemory::stateBytes(config, request.contextTokens);
    return Decoder::scratchBytes(config, chunkTokens, request.threadCount) + request.conversationCount * buffersBytes;
}

// Longer chunks than the context's are never filled.
void addChunks(ModelSizes& sizes, const ModelConfig& config, const MemoryPlan::Request& request)
{
    const std::uint32_t first = request.prefillChunkTokens != 0 ? request.prefillChunkTokens : kPrefillChunkTokensMin;
    const std::uint64_t firstBytes = chunkBytes(config, request, first);
    sizes.scratchBytes += firstBytes;
    sizes.prefillChunks = {{first, 0}};
    if (request.prefillChunkTokens != 0)
        return;
    for (const std::uint32_t tokens : kLongerPrefillChunks) {
        if (tokens / 2 < request.contextTokens)
            sizes.prefillChunks.push_back({tokens, chunkBytes(config, request, tokens) - firstBytes});
    }
}

} // namespace

Result<ModelSizes> modelSizes(const detail::ModelFiles& files, const MemoryPlan::Request& request)
{
    const ModelConfig& config = files.config;
    ModelSizes sizes;
    addWeights(sizes, files);
    sizes.stateFixedBytes = sequenceStateBytes(config, 0);
    sizes.stateBytesPerToken = sequenceStateBytes(config, 1) - sizes.stateFixedBytes;
    sizes.checkpointCount = request.conversationCount;
    sizes.conversationCount = request.conversationCount;

    addChunks(sizes, config, request);

    const Result<std::uint64_t> visionBytes = VisionModel::plannedBytes(files, request.threadCount);
    if (!visionBytes && request.vision == VisionUse::FromTheStart)
        return visionBytes.error();
    sizes.visionBytes = visionBytes ? *visionBytes : 0;
    return sizes;
}

Result<MemoryPlan> MemoryPlan::compute(const Container& container, const Request& request, const Machine& machine)
{
    WASTE_TRY_STATUS(checkRequest(request));
    Request complete = request;
    if (complete.threadCount == 0)
        complete.threadCount = physicalCoreCount();

    WASTE_TRY(const ModelSizes sizes, modelSizes(container.files(), complete));
    return planMemory(sizes, complete, machine);
}

} // namespace waste
