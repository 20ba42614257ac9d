#include "support/wide_container/lengthened_state.h"

#include "platform/small_file.h"
#include "session/state_file.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace waste::test {
namespace {

using Bytes = std::vector<std::byte>;
using state::SectionKind;

constexpr std::uint64_t kStateBytesMax = std::uint64_t{2} << 30;

Bytes sectionOf(std::span<const std::byte> file, const state::Header& header, SectionKind kind)
{
    const state::Section* section = header.find(kind);
    if (section == nullptr)
        return {};
    const auto content = file.subspan(section->offsetBytes, section->bytes);
    return {content.begin(), content.end()};
}

// Blocks of `from` rows become blocks of `to` rows.
Bytes repeatedRows(const Bytes& blocks, std::uint64_t blockCount, std::uint64_t from, std::uint64_t to)
{
    if (blockCount == 0)
        return {};
    const std::size_t rowBytes = blocks.size() / blockCount / from;
    Bytes longer(blockCount * to * rowBytes);
    for (std::uint64_t block = 0; block < blockCount; ++block)
        for (std::uint64_t row = 0; row < to; ++row)
            std::memcpy(longer.data() + (block * to + row) * rowBytes,
                blocks.data() + (block * from + row % from) * rowBytes, rowBytes);
    return longer;
}

} // namespace

Status lengthenState(const std::filesystem::path& saved, std::uint64_t position, const std::filesystem::path& longer)
{
    WASTE_TRY(const std::string text, readSmallFile(saved, kStateBytesMax));
    const auto file = std::as_bytes(std::span(text));
    if (file.size() < state::kHeaderBytes)
        return Error{ErrorCode::Corrupt, "damaged", "the saved state is cut off"};
    WASTE_TRY(state::Header header, state::decodeHeader(file.first<state::kHeaderBytes>(), "the saved state"));
    WASTE_TRY_STATUS(state::checkLayout(header, file.size(), "the saved state"));

    const std::uint64_t before = header.position;
    const std::uint32_t latentLayers = header.identity.shape.mlaLayerCount;
    const Bytes ids = repeatedRows(sectionOf(file, header, SectionKind::Ids), 1, before, position);
    const Bytes latentRows =
        repeatedRows(sectionOf(file, header, SectionKind::LatentRows), latentLayers, before, position);
    const Bytes recurrent = sectionOf(file, header, SectionKind::Recurrent);
    const Bytes windows = sectionOf(file, header, SectionKind::Windows);
    const Bytes metadata = sectionOf(file, header, SectionKind::Metadata);
    const Bytes logits = sectionOf(file, header, SectionKind::Logits);
    const std::vector<state::SectionSource> sections = {{SectionKind::Ids, {ids}},
        {SectionKind::Recurrent, {recurrent}}, {SectionKind::Windows, {windows}},
        {SectionKind::LatentRows, {latentRows}}, {SectionKind::Metadata, {metadata}}, {SectionKind::Logits, {logits}}};
    header.position = position;
    header.sections.clear();
    return state::writeStateFile(longer, header, sections);
}

} // namespace waste::test
