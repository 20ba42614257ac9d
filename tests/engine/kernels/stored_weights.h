#pragma once

#include "base/half.h"
#include "kernel_tables.h"
#include "kernels/kernels.h"
#include "kernels/weight_views.h"

#include <QTest>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <random>
#include <vector>

// Stored weights with random content for tests of kernels, decoded here from the text of the container
// specification.

namespace waste::test {

using namespace waste::kernels;

inline std::mt19937 makeGenerator(std::uint32_t seed)
{
    return std::mt19937(seed);
}

inline std::vector<float> randomFloats(std::size_t count, std::uint32_t seed)
{
    std::mt19937 generator = makeGenerator(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    for (float& value : values)
        value = normal(generator);
    return values;
}

inline std::vector<std::uint8_t> randomBytes(std::size_t count, std::uint32_t seed)
{
    std::mt19937 generator = makeGenerator(seed);
    std::vector<std::uint8_t> bytes(count);
    for (std::uint8_t& byte : bytes)
        byte = static_cast<std::uint8_t>(generator());
    return bytes;
}

// Normal, negative and subnormal scales, and zero.
inline std::vector<std::uint16_t> randomScales(std::size_t count, std::uint32_t seed)
{
    std::mt19937 generator = makeGenerator(seed);
    std::vector<std::uint16_t> scales(count);
    for (std::size_t i = 0; i < count; ++i) {
        const float magnitude = i % 5 == 3 ? 2e-6F : 0.01F + 0.01F * static_cast<float>(generator() % 7);
        scales[i] = i % 17 == 16 ? 0 : halfFromFloat(i % 3 == 1 ? -magnitude : magnitude);
    }
    return scales;
}

// A matrix in one of the trunk's formats with random content, and what it decodes to.
struct StoredMatrix {
    std::vector<std::uint8_t> payload;
    std::vector<std::uint16_t> scales;
    MatrixView view;
    std::vector<double> values; // [rows][columns]

    StoredMatrix(WeightFormat format, std::uint32_t rows, std::uint32_t columns, std::uint32_t group)
    {
        const std::uint32_t groups = (columns + group - 1) / group;
        const std::size_t padded = std::size_t{groups} * group;
        std::size_t rowBytes = columns * sizeof(float);
        if (format == WeightFormat::Q8G)
            rowBytes = padded;
        else if (format == WeightFormat::Q4G)
            rowBytes = padded / 2;
        else if (format == WeightFormat::Q3G)
            rowBytes = (padded * 3 + 7) / 8 + 1;
        payload = randomBytes(rows * rowBytes, rows * 1000 + columns);
        if (format == WeightFormat::F32) {
            const std::vector<float> floats = randomFloats(std::size_t{rows} * columns, columns);
            std::memcpy(payload.data(), floats.data(), payload.size());
        } else {
            scales = randomScales(std::size_t{rows} * groups, columns);
        }
        view = {format, rows, columns, group, rowBytes, reinterpret_cast<const std::byte*>(payload.data()),
            scales.empty() ? nullptr : scales.data()};
        for (std::uint32_t row = 0; row < rows; ++row) {
            for (std::uint32_t column = 0; column < columns; ++column)
                values.push_back(decode(row, column));
        }
    }

    [[nodiscard]] double decode(std::uint32_t row, std::uint32_t column) const
    {
        const std::uint8_t* const bytes = payload.data() + row * view.rowBytes;
        if (view.format == WeightFormat::F32) {
            float value = 0;
            std::memcpy(&value, bytes + column * sizeof(float), sizeof(float));
            return value;
        }
        int stored = 0;
        if (view.format == WeightFormat::Q8G) {
            stored = bytes[column] < 128 ? bytes[column] : bytes[column] - 256;
        } else if (view.format == WeightFormat::Q4G) {
            stored = (column % 2 == 0 ? bytes[column / 2] & 15 : bytes[column / 2] >> 4) - 8;
        } else {
            for (std::uint32_t bit = 0; bit < 3; ++bit)
                stored |= ((bytes[(column * 3 + bit) / 8] >> ((column * 3 + bit) % 8)) & 1) << bit;
            stored -= 4;
        }
        const std::uint32_t groups = (view.columns + view.group - 1) / view.group;
        return double{floatFromHalf(scales[row * groups + column / view.group])} * stored;
    }
};

// An expert's matrix with random indices and codebooks.
struct StoredExpert {
    std::vector<std::uint8_t> indices;
    std::vector<std::uint16_t> scales;
    std::vector<float> codebooks;
    VqMatrixView view;
    std::vector<float> exact; // stages added in ascending order, then times the scale, in f32

    struct Shape {
        std::uint32_t rows, columns;
        std::uint8_t vecDim, stages, indexBits, indexBlock;
    };
    explicit StoredExpert(const Shape& shape)
    {
        const std::size_t bytesPerVector = shape.indexBits == 6 ? 3 : shape.stages;
        const std::size_t vectors = shape.columns / shape.vecDim;
        const std::size_t block = shape.indexBlock == 0 ? 1 : shape.indexBlock;
        const std::size_t storedRows = (shape.rows + block - 1) / block * block;
        indices = randomBytes(storedRows * vectors * bytesPerVector, shape.rows + shape.columns);
        scales = randomScales(shape.rows, shape.rows);
        codebooks = randomFloats(std::size_t{shape.stages} * 256 * shape.vecDim, 5);
        view = {shape.rows, shape.columns, shape.vecDim, shape.stages, shape.indexBits, shape.indexBlock,
            indices.data(), scales.data(), codebooks.data()};
        for (std::size_t row = 0; row < shape.rows; ++row) {
            for (std::size_t vector = 0; vector < vectors; ++vector) {
                const std::size_t place = (row / block * vectors + vector) * block + row % block;
                const std::uint8_t* const bytes = indices.data() + place * bytesPerVector;
                for (std::size_t j = 0; j < shape.vecDim; ++j) {
                    float sum = 0;
                    for (std::size_t stage = 0; stage < shape.stages; ++stage)
                        sum += codebooks[(stage * 256 + index(bytes, stage)) * shape.vecDim + j];
                    exact.push_back(sum * floatFromHalf(scales[row]));
                }
            }
        }
    }

    [[nodiscard]] std::size_t index(const std::uint8_t* bytes, std::size_t stage) const
    {
        if (view.indexBits == 8)
            return bytes[stage];
        const std::size_t six[] = {bytes[0] & 63U, (bytes[0] >> 6 | bytes[1] << 2) & 63U,
            (bytes[1] >> 4 | bytes[2] << 4) & 63U, std::size_t{bytes[2]} >> 2};
        return six[stage];
    }
};

constexpr std::uint32_t kColumnsMax = 16500; // of these matrices

// Group widths: the usual one, small ones, and one that registers straddle.
inline std::vector<StoredMatrix> matricesOf(WeightFormat format)
{
    std::vector<StoredMatrix> made;
    for (std::uint32_t columns = 1; columns <= 40; ++columns)
        made.emplace_back(format, 5, columns, 128);
    for (const std::uint32_t columns : {127U, 128U, 129U, 136U, 144U, 255U, 260U, 1500U, 7168U})
        made.emplace_back(format, 9, columns, 128);
    for (const std::uint32_t rows : {33U, 49U}) // several registers of rows, and a part of one
        made.emplace_back(format, rows, 300, 128);
    made.emplace_back(format, 6, 70, 32);
    made.emplace_back(format, 6, 70, 8);
    made.emplace_back(format, 6, 70, 20);
    made.emplace_back(format, 3, 1100, 4096);
    made.emplace_back(format, 6, kColumnsMax, 128); // more than a kernel takes at a time
    return made;
}

// Rows "ISA FORMAT" for every table that this CPU has.
inline void addTablesAndFormats(std::initializer_list<WeightFormat> formats)
{
    const auto nameOf = [](WeightFormat format) {
        return format == WeightFormat::F32 ? "F32"
            : format == WeightFormat::Q8G  ? "Q8G"
            : format == WeightFormat::Q4G  ? "Q4G"
                                           : "Q3G";
    };
    QTest::addColumn<const KernelTable*>("table");
    QTest::addColumn<int>("format");
    for (const char* isa : testedSets()) {
        if (const Result<const KernelTable*> table = selectKernels(isa)) {
            for (const WeightFormat format : formats)
                QTest::addRow("%s %s", isa, nameOf(format)) << *table << static_cast<int>(format);
        }
    }
}

} // namespace waste::test
