#include "convert/trunk_encoder.h"

#include "base/half.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstring>
#include <vector>

namespace waste {
namespace {

using kernels::WeightFormat;

constexpr std::uint32_t kRowsPerPiece = 16;
constexpr float kAmaxMin = 1e-8F;

// What tells one quantised format from another.
struct Coding {
    int bits;
    float divisor; // scale = amax / divisor
    int lowest; // of a code; also what packing adds, so that stored codes start at 0 (not in Q8G)
    int highest;
};

constexpr Coding codingOf(WeightFormat format)
{
    switch (format) {
    case WeightFormat::Q8G:
        return {8, 127, -127, 127};
    case WeightFormat::Q4G:
        return {4, 7, -8, 7};
    default:
        assert(format == WeightFormat::Q3G);
        return {3, 3, -4, 3};
    }
}

// Half to even, as IEEE addition rounds: above 2^23 a float has no fraction left. |value| < 2^22.
float roundHalfEven(float value)
{
    constexpr float kShift = 12582912; // 1.5 · 2^23
    return (value + kShift) - kShift;
}

using Codes = std::array<std::int8_t, kTrunkGroup>;

// One group of at most 128 columns; columns beyond it are coded as zero. Returns the scale.
std::uint16_t quantiseGroup(std::span<const float> group, const Coding& coding, Codes& codes, SquaredError& error)
{
    float amax = kAmaxMin;
    for (const float value : group)
        amax = std::max(amax, std::abs(value));
    const float scale = amax / coding.divisor;
    const std::uint16_t stored = halfFromFloat(scale);
    const float decodedScale = floatFromHalf(stored);
    codes.fill(0);
    for (std::size_t i = 0; i < group.size(); ++i) {
        const float rounded = roundHalfEven(group[i] / scale);
        const float code = std::clamp(rounded, static_cast<float>(coding.lowest), static_cast<float>(coding.highest));
        codes[i] = static_cast<std::int8_t>(code);
        error.add(group[i], decodedScale * code);
    }
    return stored;
}

// Codes go into a stream of bits, lowest bits first: for four bits that is the even column in the low nibble.
// A group of 128 codes fills whole bytes.
void packGroup(const Codes& codes, const Coding& coding, std::byte* target)
{
    if (coding.bits == 8) {
        std::memcpy(target, codes.data(), codes.size());
        return;
    }
    std::uint32_t pending = 0;
    int pendingBits = 0;
    for (const std::int8_t code : codes) {
        pending |= static_cast<std::uint32_t>(code - coding.lowest) << pendingBits;
        pendingBits += coding.bits;
        if (pendingBits >= 8) {
            *target++ = static_cast<std::byte>(pending & 0xFFU);
            pending >>= 8;
            pendingBits -= 8;
        }
    }
    assert(pendingBits == 0);
}

void quantiseRow(
    std::span<const float> row, const Coding& coding, std::byte* payload, std::uint16_t* scales, SquaredError& error)
{
    const std::size_t groupBytes = kTrunkGroup * static_cast<std::size_t>(coding.bits) / 8;
    Codes codes;
    for (std::size_t first = 0; first < row.size(); first += kTrunkGroup) {
        const auto group = row.subspan(first, std::min<std::size_t>(kTrunkGroup, row.size() - first));
        *scales++ = quantiseGroup(group, coding, codes, error);
        packGroup(codes, coding, payload);
        payload += groupBytes;
    }
    if (coding.bits == 3)
        *payload = std::byte{0}; // the guard that ends a row of Q3G
}

} // namespace

SquaredError encodeTrunkRows(WeightFormat format, std::span<const float> values, std::uint32_t columns,
    std::span<std::byte> payload, std::span<std::uint16_t> scales, ThreadPool& pool)
{
    assert(values.size() % columns == 0);
    const auto rows = static_cast<std::uint32_t>(values.size() / columns);
    const std::size_t rowBytes = payload.size() / rows;
    const std::size_t groupCount = scales.size() / rows;
    std::vector<SquaredError> errors(rows);
    pool.parallelFor(rows, kRowsPerPiece, [&](std::uint32_t begin, std::uint32_t end, std::uint32_t) {
        for (std::size_t r = begin; r < end; ++r) {
            const auto row = values.subspan(r * columns, columns);
            std::byte* target = payload.data() + r * rowBytes;
            if (format != WeightFormat::F32) {
                quantiseRow(row, codingOf(format), target, scales.data() + r * groupCount, errors[r]);
                continue;
            }
            std::memcpy(target, row.data(), row.size_bytes());
            for (const float value : row)
                errors[r].add(value, value);
        }
    });
    return sumInOrder(errors);
}

} // namespace waste
