// A conversation's state in a file, and back (spec: model 9.1).

#include "base/current_time.h"
#include "session/session_internals.h"
#include "session/state_file.h"

#include <string>

namespace waste {
namespace {

using state::SectionKind;

// The parts of a section in the live state: one for each layer that has it, in the order of the file.
template<typename Byte>
std::vector<std::span<Byte>> layerPieces(
    const SequenceState& sequence, const ModelConfig& config, SectionKind kind, std::uint64_t position)
{
    std::vector<std::span<Byte>> pieces;
    for (const LayerState& layer : sequence.layers) {
        float* first = nullptr;
        std::uint64_t count = 0;
        if (kind == SectionKind::Recurrent) {
            first = layer.kda;
            count = kdaStateFloats(config);
        } else if (kind == SectionKind::Windows) {
            first = layer.windows;
            count = windowFloats(config);
        } else {
            first = layer.latentRows;
            count = position * latentRowFloats(config);
        }
        if (first != nullptr)
            pieces.push_back({reinterpret_cast<Byte*>(first), static_cast<std::size_t>(count) * sizeof(float)});
    }
    return pieces;
}

} // namespace

Status Session::Internals::save(const std::filesystem::path& file) const
{
    const std::string metadata = state::encodeMetadata({.createdUtc = currentTime(),
        .modelName = engine->container->info().name,
        .sampling = continuation.sampling,
        .randomState = continuation.randomState,
        .pictures = pictures});
    const auto layers = [this](SectionKind kind) {
        return state::SectionSource{kind, layerPieces<const std::byte>(state, config(), kind, state.position)};
    };
    std::vector<state::SectionSource> sections;
    sections.push_back({SectionKind::Ids, {std::as_bytes(evaluatedIds())}});
    sections.push_back(layers(SectionKind::Recurrent));
    sections.push_back(layers(SectionKind::Windows));
    sections.push_back(layers(SectionKind::LatentRows));
    sections.push_back({SectionKind::Metadata, {std::as_bytes(std::span(metadata))}});
    if (continuation.hasLogits)
        sections.push_back({SectionKind::Logits, {std::as_bytes(memory.logits)}});

    state::Header header;
    header.position = state.position;
    header.identity = engine->identity;
    header.contextTokens = state.contextTokens;
    header.pendingToken = continuation.pendingToken;
    return state::writeStateFile(file, header, sections);
}

Status Session::Internals::restore(const std::filesystem::path& file)
{
    WASTE_TRY(const state::StateFile saved, state::StateFile::open(file, engine->identity, state.contextTokens));
    const state::Header& header = saved.header();

    // From here on the old conversation is gone. A file that fails now has changed since it was checked, or
    // its disk has: what was read is no state, so the session begins anew.
    reset();
    const auto load = [&](SectionKind kind) {
        return saved.read(kind, layerPieces<std::byte>(state, config(), kind, header.position));
    };
    for (const SectionKind kind : {SectionKind::Recurrent, SectionKind::Windows, SectionKind::LatentRows}) {
        if (Status status = load(kind); !status) {
            reset();
            return status;
        }
    }
    if (header.find(SectionKind::Logits) != nullptr) {
        const std::span<std::byte> logits = std::as_writable_bytes(memory.logits);
        if (Status status = saved.read(SectionKind::Logits, {&logits, 1}); !status) {
            reset();
            return status;
        }
        continuation.hasLogits = true;
    }
    std::copy(saved.ids().begin(), saved.ids().end(), memory.ids.begin());
    state.position = header.position;
    continuation.pendingToken = header.pendingToken;
    continuation.sampling = saved.metadata().sampling;
    continuation.randomState = saved.metadata().randomState;
    pictures = saved.metadata().pictures;
    return {};
}

} // namespace waste
