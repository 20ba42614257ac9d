#include "convert/trunk_writer.h"

#include "convert/source_reader.h"
#include "convert/trunk_encoder.h"
#include "kernels/checksum.h"

#include <algorithm>
#include <vector>

namespace waste {
namespace {

constexpr std::uint64_t kTileElements = std::uint64_t{1} << 20;

} // namespace

Result<WrittenTensor> writeTensor(const CheckpointFiles& files, const TrunkItem& item, OutputFile& trunk,
    ThreadPool& pool, ConversionProgress& progress)
{
    const TrunkEntry& entry = item.entry;
    const TrunkLayout& layout = entry.layout;
    const std::uint64_t tileRowsMax = std::max<std::uint64_t>(1, kTileElements / layout.columns);
    std::vector<float> values;
    std::vector<std::byte> payload;
    std::vector<std::uint16_t> scales(std::uint64_t{layout.rows} * layout.groupsPerRow);
    WrittenTensor written;
    for (std::uint64_t row = 0; row < layout.rows; row += tileRowsMax) {
        WASTE_TRY_STATUS(progress.checkCancelled());
        const std::uint64_t rows = std::min(tileRowsMax, layout.rows - row);
        values.resize(rows * layout.columns);
        payload.resize(rows * layout.rowBytes);
        WASTE_TRY_STATUS(readFinite(files, *item.source, row * layout.columns, values, pool));
        const auto tileScales = std::span(scales).subspan(row * layout.groupsPerRow, rows * layout.groupsPerRow);
        written.error += encodeTrunkRows(*entry.format, values, layout.columns, payload, tileScales, pool);
        written.crc32 = kernels::crc32(payload, written.crc32);
        WASTE_TRY_STATUS(trunk.writeAt(entry.offset + row * layout.rowBytes, payload));
        progress.advance(payload.size());
    }
    if (!written.error.isFinite())
        return scaleOverflow(*item.source);
    const auto scaleBytes = std::as_bytes(std::span(scales));
    if (!scaleBytes.empty())
        WASTE_TRY_STATUS(trunk.writeAt(entry.scaleOffset, scaleBytes));
    progress.advance(scaleBytes.size());
    written.crc32 = kernels::crc32(scaleBytes, written.crc32);
    return written;
}

} // namespace waste
