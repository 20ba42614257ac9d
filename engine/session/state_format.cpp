#include "session/state_format.h"

#include "base/checked.h"
#include "base/crc32.h"
#include "base/little_endian.h"

#include <algorithm>
#include <cassert>
#include <string>

namespace waste::state {
namespace {

constexpr std::array kMagic = {'W', 'S', 'T', 'S', 'T', 'A', 'T', 'E'};
constexpr std::size_t kChecksumOffset = 12;
constexpr std::size_t kDigestsOffset = 32;
constexpr std::size_t kShapeOffset = 96;
constexpr std::size_t kPendingOffset = 136;
constexpr std::size_t kSectionsOffset = 256;
constexpr std::size_t kSectionBytes = 32;
static_assert(kSectionsOffset + kSectionsMax * kSectionBytes <= kHeaderBytes);

Error damaged(std::string_view file, const std::string& what)
{
    return Error{ErrorCode::Corrupt, "damaged",
        std::string(file) + ": the saved state is damaged (" + what
            + "). The text of the conversation can be read again."};
}

Error otherModel(std::string_view file, const std::string& what)
{
    return Error{ErrorCode::Corrupt, "other_model",
        std::string(file) + ": the state was saved with " + what
            + ". Open that one, or let this model read the conversation again."};
}

std::uint32_t headerChecksum(std::span<const std::byte, kHeaderBytes> bytes)
{
    constexpr std::array<std::byte, 4> kZeroWord{};
    std::uint32_t crc = crc32(bytes.first(kChecksumOffset));
    crc = crc32(kZeroWord, crc);
    return crc32(bytes.subspan(kChecksumOffset + 4), crc);
}

std::optional<std::uint64_t> product(std::initializer_list<std::uint64_t> factors)
{
    std::optional<std::uint64_t> result = 1;
    for (const std::uint64_t factor : factors) {
        if (result)
            result = checkedMultiply(*result, factor);
    }
    return result;
}

Status checkPlace(const Section& section, const Header& header, std::string_view file)
{
    const std::string name = "section " + std::to_string(static_cast<std::uint32_t>(section.kind));
    const std::optional<std::uint64_t> end = checkedAdd(section.offsetBytes, section.bytes);
    if (section.offsetBytes < kHeaderBytes || section.offsetBytes % kAlignment != 0 || !end || *end > header.fileBytes)
        return damaged(file, name + " lies outside the file");

    const auto kind = static_cast<std::uint32_t>(section.kind);
    const bool known = kind >= 1 && kind <= static_cast<std::uint32_t>(SectionKind::PictureRows);
    if (!known && (section.flags & Section::kMayBeSkipped) == 0)
        return damaged(file, name + " is of an unknown kind");

    if (section.kind == SectionKind::Metadata) {
        if (section.bytes > kMetadataBytesMax)
            return damaged(file, "its description is too long");
    } else if (known && section.kind != SectionKind::PictureRows) {
        if (expectedBytes(section.kind, header.identity.shape, header.position) != section.bytes)
            return damaged(file, name + " does not have the size that its header states");
    }
    return {};
}

// Each of the first five kinds exactly once, logits at most once, no two sections on the same bytes.
Status checkTogether(const Header& header, std::string_view file)
{
    for (std::uint32_t kind = 1; kind <= static_cast<std::uint32_t>(SectionKind::PictureRows); ++kind) {
        const auto count = std::count_if(header.sections.begin(), header.sections.end(),
            [kind](const Section& section) { return static_cast<std::uint32_t>(section.kind) == kind; });
        const bool needed = kind <= static_cast<std::uint32_t>(SectionKind::Metadata);
        if (count > 1 || (needed && count == 0))
            return damaged(file, "section " + std::to_string(kind) + (count > 1 ? " appears twice" : " is missing"));
    }

    std::vector<Section> ordered = header.sections;
    std::erase_if(ordered, [](const Section& section) { return section.bytes == 0; });
    std::sort(ordered.begin(), ordered.end(),
        [](const Section& a, const Section& b) { return a.offsetBytes < b.offsetBytes; });
    for (std::size_t i = 1; i < ordered.size(); ++i) {
        if (ordered[i].offsetBytes < ordered[i - 1].offsetBytes + ordered[i - 1].bytes)
            return damaged(file, "two sections overlap");
    }
    return {};
}

} // namespace

const Section* Header::find(SectionKind kind) const
{
    const auto found =
        std::find_if(sections.begin(), sections.end(), [kind](const Section& section) { return section.kind == kind; });
    return found == sections.end() ? nullptr : &*found;
}

std::optional<std::uint64_t> expectedBytes(SectionKind kind, const Shape& shape, std::uint64_t position)
{
    const std::uint64_t channels = std::uint64_t{shape.kdaHeadCount} * shape.kdaHeadDim;
    switch (kind) {
    case SectionKind::Ids:
        return product({sizeof(TokenId), position});
    case SectionKind::Recurrent:
        return product({sizeof(float), shape.kdaLayerCount, channels, shape.kdaHeadDim});
    case SectionKind::Windows:
        if (shape.kdaLayerCount == 0)
            return 0;
        if (shape.convolutionKernel == 0)
            return std::nullopt;
        return product({sizeof(float), shape.kdaLayerCount, 3, channels, shape.convolutionKernel - 1U});
    case SectionKind::LatentRows:
        return product({sizeof(float), shape.mlaLayerCount, position, std::uint64_t{shape.kvLoraRank} + shape.ropeDim});
    case SectionKind::Logits:
        return product({sizeof(float), shape.vocabularySize});
    case SectionKind::Metadata:
    case SectionKind::PictureRows:
        break;
    }
    return std::nullopt;
}

std::array<std::byte, kHeaderBytes> encodeHeader(const Header& header)
{
    assert(header.sections.size() <= kSectionsMax);
    std::array<std::byte, kHeaderBytes> bytes{};
    storeLittle(bytes, 0, kMagic);
    storeLittle(bytes, 8, kVersion);
    storeLittle(bytes, 16, header.fileBytes);
    storeLittle(bytes, 24, header.position);
    storeLittle(bytes, kDigestsOffset, header.identity.model);
    storeLittle(bytes, kDigestsOffset + sizeof(Digest), header.identity.tokenizer);

    const Shape& shape = header.identity.shape;
    const std::array<std::uint32_t, 10> words = {static_cast<std::uint32_t>(header.identity.kernels),
        header.contextTokens, shape.kdaLayerCount, shape.kdaHeadCount, shape.kdaHeadDim, shape.convolutionKernel,
        shape.mlaLayerCount, shape.kvLoraRank, shape.ropeDim, shape.vocabularySize};
    storeLittle(bytes, kShapeOffset, words);
    storeLittle(bytes, kPendingOffset, header.pendingToken);
    storeLittle(bytes, kPendingOffset + 4, static_cast<std::uint32_t>(header.sections.size()));

    std::size_t offset = kSectionsOffset;
    for (const Section& section : header.sections) {
        storeLittle(bytes, offset, section.kind);
        storeLittle(bytes, offset + 4, section.flags);
        storeLittle(bytes, offset + 8, section.offsetBytes);
        storeLittle(bytes, offset + 16, section.bytes);
        storeLittle(bytes, offset + 24, section.checksum);
        offset += kSectionBytes;
    }
    storeLittle(bytes, kChecksumOffset, headerChecksum(bytes));
    return bytes;
}

Result<Header> decodeHeader(std::span<const std::byte, kHeaderBytes> bytes, std::string_view file)
{
    if (loadLittle<std::array<char, 8>>(bytes, 0) != kMagic)
        return damaged(file, "it does not begin like a saved state");
    const auto version = loadLittle<std::uint32_t>(bytes, 8);
    if (version > kVersion) {
        return Error{ErrorCode::Unsupported, "",
            std::string(file) + ": the state has format version " + std::to_string(version)
                + ", this program reads version 1. Use the program that saved it or a newer one."};
    }
    if (version != kVersion || loadLittle<std::uint32_t>(bytes, kChecksumOffset) != headerChecksum(bytes))
        return damaged(file, "checksum of the header");

    Header header;
    header.fileBytes = loadLittle<std::uint64_t>(bytes, 16);
    header.position = loadLittle<std::uint64_t>(bytes, 24);
    header.identity.model = loadLittle<Digest>(bytes, kDigestsOffset);
    header.identity.tokenizer = loadLittle<Digest>(bytes, kDigestsOffset + sizeof(Digest));
    const auto words = loadLittle<std::array<std::uint32_t, 10>>(bytes, kShapeOffset);
    if (words[0] > static_cast<std::uint32_t>(KernelClass::Reduced))
        return damaged(file, "unknown kernel class");
    header.identity.kernels = static_cast<KernelClass>(words[0]);
    header.contextTokens = words[1];
    header.identity.shape = {words[2], words[3], words[4], words[5], words[6], words[7], words[8], words[9]};
    header.pendingToken = loadLittle<TokenId>(bytes, kPendingOffset);
    if (header.pendingToken < -1 || header.pendingToken >= std::int64_t{header.identity.shape.vocabularySize})
        return damaged(file, "its last token is outside the vocabulary");

    const auto sectionCount = loadLittle<std::uint32_t>(bytes, kPendingOffset + 4);
    if (sectionCount > kSectionsMax)
        return damaged(file, "too many sections");
    for (std::uint32_t i = 0; i < sectionCount; ++i) {
        const std::size_t offset = kSectionsOffset + std::size_t{i} * kSectionBytes;
        header.sections.push_back({loadLittle<SectionKind>(bytes, offset), loadLittle<std::uint32_t>(bytes, offset + 4),
            loadLittle<std::uint64_t>(bytes, offset + 8), loadLittle<std::uint64_t>(bytes, offset + 16),
            loadLittle<std::uint32_t>(bytes, offset + 24)});
    }
    return header;
}

Status checkIdentity(const Identity& stored, const Identity& engine, std::string_view file)
{
    if (stored.model != engine.model)
        return otherModel(file, "another model or another conversion of this model");
    if (stored.tokenizer != engine.tokenizer)
        return otherModel(file, "another tokenizer");
    if (stored.shape != engine.shape)
        return otherModel(file, "a model of another shape");
    if (stored.kernels != engine.kernels) {
        const bool exact = stored.kernels == KernelClass::Exact;
        return Error{ErrorCode::Corrupt, "other_kernels",
            std::string(file) + ": the state was saved with " + (exact ? "exact" : "reduced")
                + " arithmetic. Open the model " + (exact ? "with" : "without") + " --exact to continue it."};
    }
    return {};
}

Status checkLayout(const Header& header, std::uint64_t fileBytes, std::string_view file)
{
    if (header.fileBytes != fileBytes) {
        return damaged(
            file, "it is " + std::to_string(fileBytes) + " bytes long instead of " + std::to_string(header.fileBytes));
    }
    for (const Section& section : header.sections)
        WASTE_TRY_STATUS(checkPlace(section, header, file));
    return checkTogether(header, file);
}

} // namespace waste::state
