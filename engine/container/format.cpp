#include "container/format.h"

#include "base/checked.h"
#include "base/little_endian.h"
#include "container/error_reasons.h"
#include "container/index_packing.h"

#include <limits>

namespace waste {

std::string bankFileName(std::uint32_t layer)
{
    return "experts-L" + std::to_string(layer) + ".bin";
}

std::string_view ExpertQuant::name() const
{
    if (indexBits == 6)
        return "VQ4P";
    return stages == 2 ? "VQ2R" : "VQ3R";
}

Result<ExpertGeometry> ExpertGeometry::compute(
    std::uint32_t expertWidth, std::uint32_t inputWidth, const ExpertQuant& quant, std::string_view file)
{
    if (expertWidth % quant.vecDim != 0 || inputWidth % quant.vecDim != 0)
        return reason::corrupt(reason::kManifest,
            std::string(file) + ": vec_dim " + std::to_string(quant.vecDim) + " does not divide the experts' shape ["
                + std::to_string(expertWidth) + ", " + std::to_string(inputWidth) + "].");

    // Widths are at most 2^20, so nothing here comes near 2^64.
    ExpertGeometry geometry;
    geometry.matrices[0] = {.rows = expertWidth, .columns = inputWidth};
    geometry.matrices[1] = geometry.matrices[0];
    geometry.matrices[2] = {.rows = inputWidth, .columns = expertWidth};
    std::uint64_t offset = kRecordHeaderBytes;
    for (Matrix& matrix : geometry.matrices) {
        matrix.indexOffset = offset;
        matrix.indexBytes = indexBytes(quant, matrix.rows, matrix.columns);
        offset += matrix.indexBytes;
    }
    geometry.scalesOffset = offset;
    for (Matrix& matrix : geometry.matrices) {
        matrix.scaleOffset = offset;
        offset += std::uint64_t{matrix.rows} * sizeof(std::uint16_t);
    }
    geometry.payloadEnd = offset;
    geometry.strideBytes = roundUp(offset, kPageBytes);
    if (geometry.strideBytes > std::numeric_limits<std::uint32_t>::max())
        return reason::corrupt(
            reason::kManifest, std::string(file) + ": an expert record of 4 GiB or more cannot be stored.");
    return geometry;
}

std::optional<TrunkLayout> TrunkLayout::compute(
    kernels::WeightFormat format, std::span<const std::uint64_t> shape, std::uint32_t group)
{
    using kernels::WeightFormat;
    std::uint64_t rows = 1;
    for (const std::uint64_t dimension : shape.first(shape.size() - 1)) {
        const auto product = checkedMultiply(rows, dimension);
        if (!product || *product > std::numeric_limits<std::uint32_t>::max())
            return std::nullopt;
        rows = *product;
    }
    TrunkLayout layout;
    layout.rows = static_cast<std::uint32_t>(rows);
    layout.columns = static_cast<std::uint32_t>(shape.back());
    std::uint64_t paddedColumns = layout.columns;
    if (format != WeightFormat::F32) {
        const std::uint64_t groups = ceilDivide(std::uint64_t{layout.columns}, std::uint64_t{group});
        layout.groupsPerRow = static_cast<std::uint32_t>(groups);
        paddedColumns = groups * group; // below 2^26 + 2^32
    }
    switch (format) {
    case WeightFormat::F32:
        layout.rowBytes = paddedColumns * sizeof(float);
        break;
    case WeightFormat::Q8G:
        layout.rowBytes = paddedColumns;
        break;
    case WeightFormat::Q4G:
        layout.rowBytes = paddedColumns / 2;
        break;
    case WeightFormat::Q3G:
        layout.rowBytes = (paddedColumns * 3 + 7) / 8 + 1; // the last byte is a guard
        break;
    }
    const auto payload = checkedMultiply(rows, layout.rowBytes);
    const auto scales = checkedMultiply(rows, layout.scaleRowBytes());
    if (!payload || !scales || !checkedAdd(*payload, *scales))
        return std::nullopt;
    layout.payloadBytes = *payload;
    layout.scaleBytes = *scales;
    return layout;
}

std::string_view formatName(kernels::WeightFormat format)
{
    switch (format) {
    case kernels::WeightFormat::F32:
        return "F32";
    case kernels::WeightFormat::Q8G:
        return "Q8G";
    case kernels::WeightFormat::Q4G:
        return "Q4G";
    case kernels::WeightFormat::Q3G:
        return "Q3G";
    }
    return {};
}

void CodebookHeader::encode(std::span<std::byte, kCodebookHeaderBytes> target) const
{
    storeLittle(target, 0, magic);
    storeLittle(target, 4, id);
    storeLittle(target, 6, format);
    storeLittle(target, 7, vecDim);
    storeLittle(target, 8, entries);
    storeLittle(target, 12, std::uint32_t{0});
}

CodebookHeader CodebookHeader::decode(std::span<const std::byte, kCodebookHeaderBytes> bytes)
{
    CodebookHeader header;
    header.magic = loadLittle<std::uint32_t>(bytes, 0);
    header.id = loadLittle<std::uint16_t>(bytes, 4);
    header.format = loadLittle<std::uint8_t>(bytes, 6);
    header.vecDim = loadLittle<std::uint8_t>(bytes, 7);
    header.entries = loadLittle<std::uint32_t>(bytes, 8);
    return header;
}

} // namespace waste
