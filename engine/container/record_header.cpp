#include "container/record_header.h"

#include "base/crc32.h"
#include "base/little_endian.h"

#include <algorithm>

namespace waste {

namespace {

constexpr std::size_t kHeaderCrcOffset = 40;

// The header's checksum is computed over the header with the checksum's own place zero.
std::uint32_t headerChecksum(std::span<const std::byte, kRecordHeaderBytes> bytes)
{
    std::array<std::byte, kRecordHeaderBytes> copy = {};
    std::copy(bytes.begin(), bytes.end(), copy.begin());
    storeLittle(copy, kHeaderCrcOffset, std::uint32_t{0});
    return crc32(copy);
}

} // namespace

RecordHeader RecordHeader::expected(const ExpertGeometry& geometry, const ExpertQuant& quant, std::uint16_t layer,
    std::uint16_t expert, std::uint16_t codebookBase)
{
    RecordHeader header;
    header.layer = layer;
    header.expert = expert;
    header.format = quant.recordFormat();
    header.codebookBase = codebookBase;
    header.pageCount = static_cast<std::uint32_t>(geometry.strideBytes / kPageBytes);
    for (std::size_t k = 0; k < kExpertMatrixCount; ++k)
        header.indexOffsets[k] = static_cast<std::uint32_t>(geometry.matrices[k].indexOffset);
    header.scalesOffset = static_cast<std::uint32_t>(geometry.scalesOffset);
    return header;
}

void RecordHeader::encode(std::span<std::byte, kRecordHeaderBytes> target) const
{
    std::fill(target.begin(), target.end(), std::byte{0});
    storeLittle(target, 0, magic);
    storeLittle(target, 4, layer);
    storeLittle(target, 6, expert);
    storeLittle(target, 8, format);
    storeLittle(target, 9, flags);
    storeLittle(target, 10, codebookBase);
    storeLittle(target, 12, lowRankId);
    storeLittle(target, 14, reserved);
    storeLittle(target, 16, pageCount);
    for (std::size_t k = 0; k < kExpertMatrixCount; ++k)
        storeLittle(target, 20 + 4 * k, indexOffsets[k]);
    storeLittle(target, 32, scalesOffset);
    storeLittle(target, 36, payloadCrc32);
    storeLittle(target, kHeaderCrcOffset, headerChecksum(target));
}

RecordHeader RecordHeader::decode(std::span<const std::byte, kRecordHeaderBytes> bytes)
{
    RecordHeader header;
    header.magic = loadLittle<std::uint32_t>(bytes, 0);
    header.layer = loadLittle<std::uint16_t>(bytes, 4);
    header.expert = loadLittle<std::uint16_t>(bytes, 6);
    header.format = loadLittle<std::uint8_t>(bytes, 8);
    header.flags = loadLittle<std::uint8_t>(bytes, 9);
    header.codebookBase = loadLittle<std::uint16_t>(bytes, 10);
    header.lowRankId = loadLittle<std::uint16_t>(bytes, 12);
    header.reserved = loadLittle<std::uint16_t>(bytes, 14);
    header.pageCount = loadLittle<std::uint32_t>(bytes, 16);
    for (std::size_t k = 0; k < kExpertMatrixCount; ++k)
        header.indexOffsets[k] = loadLittle<std::uint32_t>(bytes, 20 + 4 * k);
    header.scalesOffset = loadLittle<std::uint32_t>(bytes, 32);
    header.payloadCrc32 = loadLittle<std::uint32_t>(bytes, 36);
    header.headerCrc32 = loadLittle<std::uint32_t>(bytes, kHeaderCrcOffset);
    return header;
}

std::string_view recordHeaderMismatch(
    std::span<const std::byte, kRecordHeaderBytes> bytes, const RecordHeader& expected)
{
    const RecordHeader header = RecordHeader::decode(bytes);
    if (header.magic != expected.magic)
        return "magic";
    if (header.layer != expected.layer)
        return "layer";
    if (header.expert != expected.expert)
        return "expert_id";
    const bool eightBitAlias = expected.format == 4 && header.format == 5;
    if (header.format != expected.format && !eightBitAlias)
        return "fmt";
    if (header.codebookBase != expected.codebookBase)
        return "codebook_id";
    if (header.lowRankId != expected.lowRankId)
        return "lowrank_id";
    if (header.pageCount != expected.pageCount)
        return "rec_4k_blocks";
    constexpr std::array<std::string_view, kExpertMatrixCount> kOffsetFields = {"gate_off", "up_off", "down_off"};
    for (std::size_t k = 0; k < kExpertMatrixCount; ++k)
        if (header.indexOffsets[k] != expected.indexOffsets[k])
            return kOffsetFields[k];
    if (header.scalesOffset != expected.scalesOffset)
        return "chan_corr_off";
    if (header.headerCrc32 != 0 && header.headerCrc32 != headerChecksum(bytes))
        return "header checksum";
    return {};
}

} // namespace waste
