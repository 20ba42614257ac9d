#include "session/state_file.h"

#include "base/checked.h"
#include "base/crc32.h"
#include "platform/atomic_file.h"
#include "platform/path_text.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

namespace waste::state {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

Error damaged(const std::filesystem::path& file, const std::string& what)
{
    return Error{ErrorCode::Corrupt, "damaged", textFromPath(file) + ": the saved state is damaged (" + what + ")"};
}

// Calls each(bytes) for [begin, end) of the file, in order, through one buffer.
template<typename Each>
Status scan(const DirectFile& file, std::uint64_t begin, std::uint64_t end, std::vector<std::byte>& buffer, Each each)
{
    while (begin < end) {
        const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), end - begin));
        const std::span<std::byte> bytes = std::span(buffer).first(length);
        WASTE_TRY_STATUS(file.readExactly(begin, bytes));
        each(std::span<const std::byte>(bytes));
        begin += length;
    }
    return {};
}

std::string sectionName(SectionKind kind)
{
    return "section " + std::to_string(static_cast<std::uint32_t>(kind));
}

Status checkContext(const Header& header, std::uint32_t contextTokens, const std::string& file)
{
    if (header.position < contextTokens)
        return {};
    const Shape& shape = header.identity.shape;
    const std::uint64_t needed = header.position + 1;
    const std::uint64_t tokenBytes =
        sizeof(float) * shape.mlaLayerCount * (std::uint64_t{shape.kvLoraRank} + shape.ropeDim);
    const std::uint64_t moreMiB = ceilDivide<std::uint64_t>((needed - contextTokens) * tokenBytes, 1U << 20U);
    return Error{ErrorCode::InvalidArgument, "context",
        file + ": the state holds " + std::to_string(header.position) + " tokens and needs a context of at least "
            + std::to_string(needed) + ", the model was opened with " + std::to_string(contextTokens)
            + ". Open it with a larger context; that takes " + std::to_string(moreMiB) + " MiB more RAM."};
}

} // namespace

Status writeStateFile(const std::filesystem::path& path, Header header, std::span<const SectionSource> sections)
{
    WASTE_TRY(AtomicFile file, AtomicFile::create(path, AtomicFile::Permissions::OwnerOnly));
    OutputFile& content = file.content();

    header.sections.clear();
    std::uint64_t offset = kHeaderBytes;
    for (const SectionSource& source : sections) {
        Section section{source.kind, 0, offset, 0, 0};
        for (const std::span<const std::byte> piece : source.pieces) {
            WASTE_TRY_STATUS(content.writeAt(offset + section.bytes, piece));
            section.checksum = crc32(piece, section.checksum);
            section.bytes += piece.size();
        }
        assert(section.bytes
            == expectedBytes(section.kind, header.identity.shape, header.position).value_or(section.bytes));
        header.sections.push_back(section);
        offset = roundUp(offset + section.bytes, kAlignment);
    }
    header.fileBytes = offset;
    WASTE_TRY_STATUS(content.resize(offset));

    // The header comes last: a file without one is no state, whatever a crash has left of the sections.
    WASTE_TRY_STATUS(content.flush());
    WASTE_TRY_STATUS(content.writeAt(0, encodeHeader(header)));
    return file.commit();
}

StateFile::StateFile(DirectFile file, Header header)
    : m_file(std::move(file))
    , m_header(std::move(header))
{
}

Result<StateFile> StateFile::open(
    const std::filesystem::path& path, const Identity& engine, std::uint32_t contextTokens)
{
    const std::string name = textFromPath(path);
    WASTE_TRY(DirectFile file, DirectFile::open(path, DirectFile::Access::Buffered));
    std::array<std::byte, kHeaderBytes> bytes{};
    if (file.sizeBytes() < kHeaderBytes)
        return damaged(path, "it ends inside the header");
    WASTE_TRY_STATUS(file.readExactly(0, bytes));
    WASTE_TRY(Header header, decodeHeader(bytes, name));
    WASTE_TRY_STATUS(checkIdentity(header.identity, engine, name));
    WASTE_TRY_STATUS(checkLayout(header, file.sizeBytes(), name));
    WASTE_TRY_STATUS(checkContext(header, contextTokens, name));

    StateFile state(std::move(file), std::move(header));
    WASTE_TRY_STATUS(state.checkContent());
    WASTE_TRY_STATUS(state.readIds());
    WASTE_TRY_STATUS(state.readMetadata());
    return state;
}

// One pass over the whole file: what belongs to a section must have its checksum, all other bytes are zero.
Status StateFile::checkContent()
{
    std::vector<Section> ordered = m_header.sections;
    std::sort(ordered.begin(), ordered.end(),
        [](const Section& a, const Section& b) { return a.offsetBytes < b.offsetBytes; });
    ordered.push_back({SectionKind{}, 0, m_header.fileBytes, 0, 0}); // the zeros behind the last one

    std::vector<std::byte> buffer(kBufferBytes);
    std::uint64_t position = kHeaderBytes;
    for (const Section& section : ordered) {
        bool zeros = true;
        WASTE_TRY_STATUS(scan(m_file, position, section.offsetBytes, buffer, [&](std::span<const std::byte> bytes) {
            zeros = zeros && std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
        }));
        if (!zeros)
            return damaged(m_file.path(), "bytes between the sections");

        const std::uint64_t end = section.offsetBytes + section.bytes;
        std::uint32_t checksum = 0;
        WASTE_TRY_STATUS(scan(m_file, section.offsetBytes, end, buffer,
            [&](std::span<const std::byte> bytes) { checksum = crc32(bytes, checksum); }));
        if (checksum != section.checksum)
            return damaged(m_file.path(), "checksum of " + sectionName(section.kind));
        position = std::max(position, end);
    }
    return {};
}

Status StateFile::readIds()
{
    m_ids.resize(static_cast<std::size_t>(m_header.position)); // as many as the file has bytes for
    const std::span<std::byte> bytes = std::as_writable_bytes(std::span(m_ids));
    WASTE_TRY_STATUS(read(SectionKind::Ids, {&bytes, 1}));
    const std::int64_t vocabulary = m_header.identity.shape.vocabularySize;
    if (std::any_of(m_ids.begin(), m_ids.end(), [vocabulary](TokenId id) { return id < 0 || id >= vocabulary; }))
        return damaged(m_file.path(), "a token outside the vocabulary");
    return {};
}

Status StateFile::readMetadata()
{
    std::string text(static_cast<std::size_t>(m_header.find(SectionKind::Metadata)->bytes), '\0');
    const std::span<std::byte> bytes = std::as_writable_bytes(std::span(text));
    WASTE_TRY_STATUS(read(SectionKind::Metadata, {&bytes, 1}));
    WASTE_TRY(m_metadata, parseMetadata(text, m_header.position, textFromPath(m_file.path())));
    return {};
}

Status StateFile::read(SectionKind kind, std::span<const std::span<std::byte>> pieces) const
{
    const Section* section = m_header.find(kind);
    assert(section != nullptr);
    std::uint64_t offset = section->offsetBytes;
    std::uint32_t checksum = 0;
    for (const std::span<std::byte> piece : pieces) {
        WASTE_TRY_STATUS(m_file.readExactly(offset, piece));
        checksum = crc32(piece, checksum);
        offset += piece.size();
    }
    assert(offset == section->offsetBytes + section->bytes);
    if (checksum != section->checksum)
        return damaged(m_file.path(), sectionName(kind) + " changed while it was read");
    return {};
}

} // namespace waste::state
