#pragma once

#include "container/format.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace waste {

// The 48 bytes in front of every expert record (spec: container 4 and 15).
struct RecordHeader {
    static constexpr std::uint32_t kMagic = 0x50584557; // "WEXP"

    std::uint32_t magic = kMagic;
    std::uint16_t layer = 0;
    std::uint16_t expert = 0;
    std::uint8_t format = 4;
    std::uint8_t flags = 0;
    std::uint16_t codebookBase = 0;
    std::uint16_t lowRankId = 0;
    std::uint16_t reserved = 0;
    std::uint32_t pageCount = 0; // rec_4k_blocks
    std::array<std::uint32_t, kExpertMatrixCount> indexOffsets = {};
    std::uint32_t scalesOffset = 0;
    std::uint32_t payloadCrc32 = 0; // over [kRecordHeaderBytes, payloadEnd) of the record
    std::uint32_t headerCrc32 = 0; // over these 48 bytes with this word zero; 0: absent

    // What a correct header of this record holds, checksums aside.
    static RecordHeader expected(const ExpertGeometry& geometry, const ExpertQuant& quant, std::uint16_t layer,
        std::uint16_t expert, std::uint16_t codebookBase);

    // Writes the header with its own checksum: headerCrc32 of this struct is ignored.
    void encode(std::span<std::byte, kRecordHeaderBytes> target) const;
    static RecordHeader decode(std::span<const std::byte, kRecordHeaderBytes> bytes);
};

// Empty, or the name of the first field in which the bytes differ from `expected`. All offsets are compared
// exactly: one wrong bit in an offset would still read as plausible weights. Flags and reserved fields are
// free; fmt 4 and 5 both mean 8-bit indices. "header checksum" when the header's own checksum is present
// and wrong.
std::string_view recordHeaderMismatch(
    std::span<const std::byte, kRecordHeaderBytes> bytes, const RecordHeader& expected);

} // namespace waste
