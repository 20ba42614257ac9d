// Going back: to the beginning, or to the one point that is kept in memory. Latent rows are kept by their
// position alone, so a checkpoint holds only what every token overwrites (spec: server 8).

#include "session/session_internals.h"

#include <algorithm>

namespace waste {
namespace {

enum class Direction : std::uint8_t { Keep, Bring };

// Copies S and windows of every KDA layer between the live state and the copy.
void copyRecurrent(const SequenceState& state, const ModelConfig& config, std::span<float> copy, Direction direction)
{
    const auto move = [&copy, direction](float* live, std::size_t count) {
        if (direction == Direction::Keep)
            std::copy_n(live, count, copy.begin());
        else
            std::copy_n(copy.begin(), count, live);
        copy = copy.subspan(count);
    };
    for (const LayerState& layer : state.layers) {
        if (layer.kda == nullptr)
            continue;
        move(layer.kda, static_cast<std::size_t>(kdaStateFloats(config)));
        move(layer.windows, static_cast<std::size_t>(windowFloats(config)));
    }
}

} // namespace

void Session::Internals::reset()
{
    memory.chunk.drop();
    state.reset(config());
    continuation = Continuation();
    continuation.randomState = engine->firstRandomState;
    pictures.clear();
    checkpoint.reset(); // its latent rows are about to be overwritten
}

void Session::Internals::keepCheckpoint()
{
    copyRecurrent(state, config(), memory.keptState, Direction::Keep);
    std::copy(memory.logits.begin(), memory.logits.end(), memory.keptLogits.begin());
    checkpoint = Checkpoint{state.position, continuation};
}

void Session::Internals::rollBack()
{
    if (!checkpoint) {
        reset();
        return;
    }
    memory.chunk.drop();
    copyRecurrent(state, config(), memory.keptState, Direction::Bring);
    std::copy(memory.keptLogits.begin(), memory.keptLogits.end(), memory.logits.begin());
    state.position = checkpoint->position;
    continuation = checkpoint->continuation;
    forgetPicturesFrom(state.position);
}

void Session::Internals::forgetPicturesFrom(std::uint64_t position)
{
    while (!pictures.empty() && pictures.back().position >= position)
        pictures.pop_back();
    // A picture may be spread over two calls of append() with the checkpoint between them.
    if (!pictures.empty())
        pictures.back().count = std::min(pictures.back().count, position - pictures.back().position);
}

} // namespace waste
