// Reading a prompt: ids in, chunk after chunk, until the state stands behind the last of them.

#include "session/layer_tracer.h"
#include "session/session_internals.h"

#include <algorithm>
#include <cassert>
#include <string>

namespace waste {
namespace {

Status checkIds(std::span<const TokenId> ids, std::uint32_t vocabularySize)
{
    const auto outside = std::find_if(ids.begin(), ids.end(),
        [vocabularySize](TokenId id) { return id < 0 || static_cast<std::uint32_t>(id) >= vocabularySize; });
    if (outside == ids.end())
        return {};
    return Error{ErrorCode::InvalidArgument, "token",
        "token " + std::to_string(outside - ids.begin()) + " has the id " + std::to_string(*outside)
            + "; this model's vocabulary ends at " + std::to_string(vocabularySize - 1)};
}

Status checkPictures(std::span<const TokenId> ids, std::span<const float> rows, const ModelConfig& config)
{
    if (rows.empty())
        return {};
    const auto places = static_cast<std::size_t>(std::count(ids.begin(), ids.end(), config.mediaPlaceholderId));
    if (rows.size() == places * config.hiddenSize)
        return {};
    return Error{ErrorCode::InvalidArgument, "pictures",
        "the prompt has " + std::to_string(places) + " places for picture rows, and "
            + std::to_string(rows.size() / config.hiddenSize) + " rows were given"};
}

Decoder::RunOptions runOptions(const AppendOptions& options)
{
    Decoder::RunOptions run;
    run.cancel = options.cancel;
    run.logitsSink = options.logitsSink;
    run.layerSink = layerTracer(options.layerSink);
    return run;
}

} // namespace

std::uint64_t Session::Internals::roomTokens() const
{
    const std::uint64_t taken = state.position + memory.chunk.tokenCount + (continuation.pendingToken >= 0 ? 1U : 0U);
    return state.contextTokens - std::min<std::uint64_t>(taken, state.contextTokens);
}

Status Session::Internals::append(std::span<const TokenId> ids, const AppendOptions& options)
{
    WASTE_TRY_STATUS(checkIds(ids, config().vocabularySize));
    WASTE_TRY_STATUS(checkPictures(ids, options.pictureRows, config()));
    if (ids.size() > roomTokens()) {
        return Error{ErrorCode::InvalidArgument, "context",
            "a prompt of " + std::to_string(ids.size()) + " tokens does not fit: " + std::to_string(roomTokens())
                + " of the context's " + std::to_string(state.contextTokens)
                + " are left. Open the model with a larger context, or shorten the prompt"};
    }
    if (!isUnfinished() && options.cancel != nullptr && options.cancel->isCancelled())
        return Error{ErrorCode::Cancelled, "", "reading was cancelled before it began"};

    const ScopedTime time(engine->prefillNs);
    Decoder::RunOptions run = runOptions(options);
    const bool hasPending = continuation.pendingToken >= 0;
    const std::uint64_t total = memory.chunk.tokenCount + (hasPending ? 1U : 0U) + ids.size();
    std::uint64_t done = 0;
    if (options.progress) {
        // A long chunk takes minutes where experts come from a disk, so its layers count as parts of its tokens.
        run.progress = [&](std::uint32_t layersDone) {
            const std::uint32_t layers = config().layerCount;
            if (layersDone < layers)
                options.progress(done + std::uint64_t{memory.chunk.tokenCount} * layersDone / layers, total);
        };
    }
    const auto finish = [&]() -> Status {
        const std::uint32_t count = memory.chunk.tokenCount;
        WASTE_TRY_STATUS(finishChunk(run, engine->tokensPrefilled));
        done += count;
        if (options.progress)
            options.progress(done, total);
        return {};
    };
    if (isUnfinished())
        WASTE_TRY_STATUS(finish());

    const float* nextRow = options.pictureRows.empty() ? nullptr : options.pictureRows.data();
    std::vector<TokenId> chunk;
    chunk.reserve(engine->plan.prefillChunkTokens);
    while (done < total) {
        chunk.clear();
        chunkRows.clear();
        // The reply's last token was sampled and not evaluated; it comes before everything new.
        if (continuation.pendingToken >= 0)
            chunk.push_back(continuation.pendingToken);
        const std::size_t count = std::min<std::size_t>(ids.size(), chunk.capacity() - chunk.size());
        chunk.insert(chunk.end(), ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count));
        ids = ids.subspan(count);
        if (nextRow != nullptr) {
            chunkRows.resize(chunk.size() - count, nullptr);
            for (const TokenId id : std::span(chunk).last(count)) {
                const bool isPlace = id == config().mediaPlaceholderId;
                chunkRows.push_back(isPlace ? nextRow : nullptr);
                nextRow += isPlace ? config().hiddenSize : 0;
            }
        }
        WASTE_TRY_STATUS(beginChunk(chunk, chunkRows));
        WASTE_TRY_STATUS(finish());
    }
    return {};
}

Status Session::Internals::beginSampled(TokenId id)
{
    WASTE_TRY_STATUS(beginChunk({&id, 1}));
    chunkIsSampled = true;
    return {};
}

Status Session::Internals::beginChunk(std::span<const TokenId> ids, std::span<const float* const> pictureRows)
{
    assert(!isUnfinished());
    WASTE_TRY_STATUS(engine->decoder->begin(memory.chunk, state, ids, pictureRows));
    std::copy(ids.begin(), ids.end(), memory.chunkIds.begin());
    continuation.pendingToken = -1;
    chunkIsSampled = false;
    for (std::size_t i = 0; i < pictureRows.size(); ++i) {
        if (pictureRows[i] == nullptr)
            continue;
        const std::uint64_t position = state.position + i;
        if (!pictures.empty() && pictures.back().position + pictures.back().count == position)
            ++pictures.back().count;
        else
            pictures.push_back({position, 1});
    }
    return {};
}

Status Session::Internals::finishChunk(Decoder::RunOptions options, Engine::Internals::Count& tokenCount)
{
    assert(isUnfinished());
    const std::uint64_t first = state.position;
    const std::uint32_t count = memory.chunk.tokenCount;
    // The logits behind every chunk, not the last one only: so they always belong to the position, wherever
    // a long prompt is interrupted. The head is a small part of a chunk's work.
    options.lastLogits = memory.logits;
    WASTE_TRY_STATUS(engine->decoder->run(memory.chunk, state, options));
    assert(state.position == first + count);
    const auto ids = memory.chunkIds.first(count);
    std::copy(ids.begin(), ids.end(), memory.ids.begin() + static_cast<std::ptrdiff_t>(first));
    continuation.hasLogits = true;
    tokenCount.fetch_add(count, std::memory_order_relaxed);
    return {};
}

} // namespace waste
