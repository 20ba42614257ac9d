#include "convert/trunk_writer.h"

#include "base/crc32.h"
#include "convert/source_reader.h"
#include "convert/space_wait.h"
#include "convert/trunk_encoder.h"

#include <algorithm>
#include <utility>

namespace waste {
namespace {

constexpr std::uint64_t kTileElements = std::uint64_t{1} << 20;

class TrunkWriter {
public:
    TrunkWriter(const CheckpointFiles& files, const ConversionPlan& plan, OutputFile& trunk, ThreadPool& pool,
        ConversionProgress& progress)
        : m_files(files)
        , m_plan(plan)
        , m_trunk(trunk)
        , m_pool(pool)
        , m_progress(progress)
    {
    }

    // Fills entry.crc32.
    Result<SquaredError> writeTensor(const CheckpointTensor& source, TrunkEntry& entry)
    {
        const TrunkLayout& layout = entry.layout;
        const std::uint64_t tileRowsMax = std::max<std::uint64_t>(1, kTileElements / layout.columns);
        std::vector<float> values;
        std::vector<std::byte> payload;
        std::vector<std::uint16_t> scales(std::uint64_t{layout.rows} * layout.groupsPerRow);
        std::uint32_t checksum = 0;
        SquaredError error;
        for (std::uint64_t row = 0; row < layout.rows; row += tileRowsMax) {
            WASTE_TRY_STATUS(m_progress.checkCancelled());
            const std::uint64_t rows = std::min(tileRowsMax, layout.rows - row);
            values.resize(rows * layout.columns);
            payload.resize(rows * layout.rowBytes);
            WASTE_TRY_STATUS(readFinite(m_files, source, row * layout.columns, values));
            const auto tileScales = std::span(scales).subspan(row * layout.groupsPerRow, rows * layout.groupsPerRow);
            error += encodeTrunkRows(*entry.format, values, layout.columns, payload, tileScales, m_pool);
            checksum = crc32(payload, checksum);
            WASTE_TRY_STATUS(write(entry.offset + row * layout.rowBytes, payload));
        }
        if (!error.isFinite())
            return scaleOverflow(source);
        const auto scaleBytes = std::as_bytes(std::span(scales));
        if (!scaleBytes.empty())
            WASTE_TRY_STATUS(write(entry.scaleOffset, scaleBytes));
        entry.crc32 = crc32(scaleBytes, checksum);
        return error;
    }

private:
    Status write(std::uint64_t offset, std::span<const std::byte> bytes)
    {
        WASTE_TRY_STATUS(writePatiently(m_trunk.path(), m_plan.trunkFileBytes - m_trunk.sizeBytes(), m_progress,
            [&] { return m_trunk.writeAt(offset, bytes); }));
        m_progress.advance(bytes.size());
        return {};
    }

    const CheckpointFiles& m_files;
    const ConversionPlan& m_plan;
    OutputFile& m_trunk;
    ThreadPool& m_pool;
    ConversionProgress& m_progress;
};

} // namespace

Result<WrittenTrunk> writeTrunk(const CheckpointFiles& files, const ConversionPlan& plan, OutputFile& trunk,
    ThreadPool& pool, ConversionProgress& progress)
{
    TrunkWriter writer(files, plan, trunk, pool, progress);
    WrittenTrunk written;
    for (const TrunkItem& item : plan.trunk) {
        TrunkEntry entry = item.entry;
        WASTE_TRY(const SquaredError error, writer.writeTensor(*item.source, entry));
        if (entry.format != kernels::WeightFormat::F32)
            written.quantised += error;
        written.entries.push_back(std::move(entry));
    }
    return written;
}

} // namespace waste
