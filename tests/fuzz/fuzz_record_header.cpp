// A record's header against the geometry of tiny experts: the first four bytes choose the geometry, 48 more
// are the header.

#include "container/record_header.h"

#include <algorithm>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    using namespace waste;
    constexpr std::size_t kChoiceBytes = 4;
    if (size < kChoiceBytes + kRecordHeaderBytes)
        return 0;
    ExpertQuant quant;
    quant.stages = static_cast<std::uint8_t>(1 + data[0] % 8);
    quant.vecDim = static_cast<std::uint8_t>(1 + data[1] % 16);
    if (data[2] % 2 == 1)
        quant = {.stages = 4, .vecDim = quant.vecDim, .entries = 64, .indexBits = 6};
    quant.indexBlock = data[2] % 4 < 2 ? kIndexBlockRows : 0;
    const std::uint32_t width = quant.vecDim * (1U + data[3] % 16);
    const auto geometry = ExpertGeometry::compute(width, 2 * width, quant, "fuzz");
    if (!geometry)
        std::abort();

    const auto bytes = std::as_bytes(std::span(data + kChoiceBytes, kRecordHeaderBytes));
    const auto header = bytes.first<kRecordHeaderBytes>();
    const RecordHeader decoded = RecordHeader::decode(header);
    const RecordHeader expected = RecordHeader::expected(*geometry, quant, 1, 2, 9);
    if (recordHeaderMismatch(header, expected).empty()
        && (decoded.indexOffsets != expected.indexOffsets || decoded.scalesOffset != expected.scalesOffset
            || decoded.pageCount * kPageBytes != geometry->strideBytes))
        std::abort(); // accepted with offsets that are not the computed ones

    std::array<std::byte, kRecordHeaderBytes> again = {};
    decoded.encode(again);
    // All but the checksum and the word behind it comes back.
    if (!std::equal(again.begin(), again.begin() + 40, header.begin()))
        std::abort();
    if (RecordHeader::decode(again).headerCrc32 != 0 && recordHeaderMismatch(again, decoded) != "")
        std::abort();
    return 0;
}
