#include "support/wide_container/random_weights.h"

#include "base/half.h"
#include "base/little_endian.h"

#include <array>
#include <cassert>
#include <cmath>
#include <cstring>

namespace waste::test {
namespace {

using kernels::WeightFormat;

// Spread of the codes of fillCodes().
constexpr float kSpreadOfBytes = 73.9F; // of −128 … 127
constexpr float kSpreadOfNibbles = 4.2F; // of −7 … 7, zero twice as often as the others

// The sum of four uniform numbers, which is as good as Gaussian here.
float gaussian(Random& random)
{
    std::uint64_t bits = random.next();
    float sum = -2;
    for (int i = 0; i < 4; ++i, bits >>= 16)
        sum += static_cast<float>(bits & 0xFFFFU) * 0x1p-16F;
    return sum * 1.7320508F;
}

// Between 0.75 and 1.25.
float nearOne(Random& random)
{
    return 0.75F + static_cast<float>(random.next() >> 40) * 0x1p-25F;
}

// A nibble of 0 means −8, which has no counterpart: without it the codes have no mean, and no matrix adds the
// same amount to all its outputs.
std::uint64_t balanced(std::uint64_t nibbles)
{
    const std::uint64_t anyBit = nibbles | nibbles >> 1 | nibbles >> 2 | nibbles >> 3;
    return nibbles | (~anyBit & 0x1111111111111111U) << 3;
}

void fillBits(std::span<std::byte> target, Random& random, std::uint64_t (*change)(std::uint64_t))
{
    std::size_t i = 0;
    for (; i + 8 <= target.size(); i += 8) {
        const std::uint64_t bits = change(random.next());
        std::memcpy(target.data() + i, &bits, 8);
    }
    const std::uint64_t bits = change(random.next());
    std::memcpy(target.data() + i, &bits, target.size() - i);
}

// Standard deviation of a tensor's weights.
float spreadOf(const TensorSpec& spec)
{
    if (spec.name.ends_with("embed_tokens.weight"))
        return 1; // rows are looked up
    const float keepsSize = 1 / std::sqrt(static_cast<float>(spec.columns));
    // Far enough from even that a token prefers its experts clearly.
    return spec.name.ends_with("block_sparse_moe.gate.weight") ? 2 * keepsSize : keepsSize;
}

} // namespace

void fillCodes(WeightFormat format, std::span<std::byte> payload, Random& random)
{
    assert(format == WeightFormat::Q8G || format == WeightFormat::Q4G);
    if (format == WeightFormat::Q4G)
        fillBits(payload, random, balanced);
    else
        fillBits(payload, random, [](std::uint64_t bits) { return bits; });
}

std::vector<std::uint16_t> randomScales(WeightFormat format, const TensorSpec& spec, std::size_t count, Random& random)
{
    const float scale = spreadOf(spec) / (format == WeightFormat::Q4G ? kSpreadOfNibbles : kSpreadOfBytes);
    std::vector<std::uint16_t> scales(count);
    for (std::uint16_t& value : scales)
        value = halfFromFloat(scale * nearOne(random));
    return scales;
}

std::vector<float> randomValues(const TensorSpec& spec, std::size_t count, Random& random)
{
    float mean = 0;
    float spread = 0.1F;
    if (spec.shape == TensorSpec::Shape::Matrix) {
        spread = spreadOf(spec);
    } else if (spec.name.ends_with("norm.weight")) {
        mean = 1;
    } else if (spec.name.ends_with("conv1d.weight")) {
        spread = 0.5F; // four taps keep the size
    } else if (spec.name.ends_with("res_proj.weight")) {
        spread = 1 / std::sqrt(static_cast<float>(count)); // a product of two vectors of this length decides
    } else if (spec.name.ends_with("dt_bias")) {
        mean = -2; // a state forgets within tens of tokens and not at once
    } else if (spec.name.ends_with("e_score_correction_bias")) {
        spread = 0.01F;
    }
    std::vector<float> values(count);
    for (float& value : values)
        value = mean + spread * gaussian(random);
    return values;
}

std::vector<std::byte> randomCodebooks(const ExpertQuant& quant, std::uint32_t firstId, Random& random)
{
    std::vector<std::byte> records;
    for (std::uint32_t book = 0; book < quant.codebooksPerLayer(); ++book) {
        CodebookHeader header;
        header.id = static_cast<std::uint16_t>(firstId + book);
        header.vecDim = quant.vecDim;
        header.entries = quant.entries;
        std::vector<std::byte> record(quant.codebookRecordBytes());
        header.encode(std::span(record).first<kCodebookHeaderBytes>());
        const float spread = std::ldexp(1.0F, -static_cast<int>(book % quant.stages));
        for (std::size_t i = kCodebookHeaderBytes; i < record.size(); i += 2)
            storeLittle(std::span(record), i, halfFromFloat(spread * gaussian(random)));
        records.insert(records.end(), record.begin(), record.end());
    }
    return records;
}

void fillExpert(const ExpertGeometry& geometry, const ExpertQuant& quant, std::span<std::byte> record, Random& random)
{
    float sumOfSquares = 0;
    for (int stage = 0; stage < quant.stages; ++stage)
        sumOfSquares += std::ldexp(1.0F, -2 * stage);
    for (const ExpertGeometry::Matrix& matrix : geometry.matrices) {
        const auto indices = record.subspan(matrix.indexOffset, matrix.indexBytes);
        fillBits(indices, random, [](std::uint64_t bits) { return bits; });
        const float scale = 1 / std::sqrt(static_cast<float>(matrix.columns) * sumOfSquares);
        for (std::size_t row = 0; row < matrix.rows; ++row)
            storeLittle(record, matrix.scaleOffset + 2 * row, halfFromFloat(scale * nearOne(random)));
    }
}

} // namespace waste::test
