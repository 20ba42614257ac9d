#include "convert/trunk_writer.h"

#include "base/crc32.h"
#include "convert/source_reader.h"
#include "convert/trunk_encoder.h"

#include <algorithm>
#include <utility>

namespace waste {
namespace {

constexpr std::uint64_t kTileElements = std::uint64_t{1} << 20;

Result<SquaredError> writeTensor(const CheckpointFiles& files, const TrunkItem& item, OutputFile& trunk,
    TrunkEntry& entry, ThreadPool& pool, ConversionProgress& progress)
{
    const TrunkLayout& layout = entry.layout;
    const std::uint64_t tileRowsMax = std::max<std::uint64_t>(1, kTileElements / layout.columns);
    std::vector<float> values;
    std::vector<std::byte> payload;
    std::vector<std::uint16_t> scales(std::uint64_t{layout.rows} * layout.groupsPerRow);
    std::uint32_t checksum = 0;
    SquaredError error;
    for (std::uint64_t row = 0; row < layout.rows; row += tileRowsMax) {
        WASTE_TRY_STATUS(progress.checkCancelled());
        const std::uint64_t rows = std::min(tileRowsMax, layout.rows - row);
        values.resize(rows * layout.columns);
        payload.resize(rows * layout.rowBytes);
        WASTE_TRY_STATUS(readFinite(files, *item.source, row * layout.columns, values));
        const auto tileScales = std::span(scales).subspan(row * layout.groupsPerRow, rows * layout.groupsPerRow);
        error += encodeTrunkRows(*entry.format, values, layout.columns, payload, tileScales, pool);
        checksum = crc32(payload, checksum);
        WASTE_TRY_STATUS(trunk.writeAt(entry.offset + row * layout.rowBytes, payload));
        progress.advance(payload.size());
    }
    if (!error.isFinite())
        return scaleOverflow(*item.source);
    const auto scaleBytes = std::as_bytes(std::span(scales));
    if (!scaleBytes.empty())
        WASTE_TRY_STATUS(trunk.writeAt(entry.scaleOffset, scaleBytes));
    progress.advance(scaleBytes.size());
    entry.crc32 = crc32(scaleBytes, checksum);
    return error;
}

} // namespace

Result<WrittenTrunk> writeTrunk(const CheckpointFiles& files, const ConversionPlan& plan, OutputFile& trunk,
    ThreadPool& pool, ConversionProgress& progress)
{
    WrittenTrunk written;
    for (const TrunkItem& item : plan.trunk) {
        TrunkEntry entry = item.entry;
        WASTE_TRY(const SquaredError error, writeTensor(files, item, trunk, entry, pool, progress));
        if (entry.format != kernels::WeightFormat::F32)
            written.quantised += error;
        written.entries.push_back(std::move(entry));
    }
    return written;
}

} // namespace waste
