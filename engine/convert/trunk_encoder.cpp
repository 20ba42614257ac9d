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

// What tells one quantised format from another. A scale is tried for every one of kScaleTrials factors from
// `factorMin` to 1, times the one that brings the largest value to the highest code.
struct Coding {
    int bits;
    int lowest; // of a code; also what packing adds, so that stored codes start at 0 (not in Q8G)
    int highest;
    float factorMin; // below it so much is cut off that no group of weights is served best
    bool triesBothSigns; // where there is one more code below zero than above
};

constexpr Coding codingOf(WeightFormat format)
{
    switch (format) {
    case WeightFormat::Q8G:
        return {8, -127, 127, 0.95F, false};
    case WeightFormat::Q4G:
        return {4, -8, 7, 0.6F, true};
    default:
        assert(format == WeightFormat::Q3G);
        return {3, -4, 3, 0.45F, true};
    }
}

// 8 leave 0.04 points more of Gaussian weights at 4 bits, 400 leave 0.01 less.
constexpr int kScaleTrials = 16;

// Half to even, as IEEE addition rounds: above 2^23 a float has no fraction left. |value| < 2^22.
float roundHalfEven(float value)
{
    constexpr float kShift = 12582912; // 1.5 · 2^23
    return (value + kShift) - kShift;
}

using Group = std::array<float, kTrunkGroup>; // filled up with zeros
using Codes = std::array<std::int8_t, kTrunkGroup>;

// The nearest code of `value` steps; of what is no number, any.
float codeOf(float value, const Coding& coding)
{
    const float atLeast = std::max(static_cast<float>(coding.lowest), value);
    return roundHalfEven(std::min(atLeast, static_cast<float>(coding.highest)));
}

// What codes q of a group x come to, if their scale is then the one that fits them best, ⟨x, q⟩ / ⟨q, q⟩: the squared
// error is ‖x‖² − ⟨x, q⟩² / ⟨q, q⟩.
struct Fit {
    float gain = 0; // ⟨x, q⟩² / ⟨q, q⟩
    float scale = 0;
};

// With the codes that `perStep` = 1 / scale gives. Eight sums side by side, which the compiler does at once.
Fit fitOf(const Group& group, float perStep, const Coding& coding)
{
    constexpr std::size_t kLanes = 8;
    std::array<float, kLanes> products{};
    std::array<float, kLanes> squares{};
    for (std::size_t i = 0; i < group.size(); i += kLanes) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            const float code = codeOf(group[i + lane] * perStep, coding);
            products[lane] += group[i + lane] * code;
            squares[lane] += code * code;
        }
    }
    float product = 0;
    float square = 0;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
        product += products[lane];
        square += squares[lane];
    }
    return square > 0 ? Fit{product * (product / square), product / square} : Fit{};
}

// The scale with the least error (spec: conversion 12).
float fittedScale(const Group& group, const Coding& coding)
{
    float amax = 0;
    for (const float value : group)
        amax = std::max(amax, std::abs(value));
    // What is too small or too large to be squared keeps the plain scale, which then is stored as zero or infinite.
    Fit best = {0, amax / static_cast<float>(coding.highest)};
    for (int trial = 0; trial < kScaleTrials; ++trial) {
        const float factor = 1 - (1 - coding.factorMin) * static_cast<float>(trial) / (kScaleTrials - 1);
        const float perStep = static_cast<float>(coding.highest) / (amax * factor);
        for (const float sign : {1.0F, -1.0F}) {
            const Fit fit = sign > 0 || coding.triesBothSigns ? fitOf(group, sign * perStep, coding) : Fit{};
            if (fit.gain > best.gain)
                best = fit;
        }
    }
    return best.scale;
}

// One group of at most 128 columns; columns beyond it are coded as zero. Codes are the nearest for the scale as it is
// stored. Returns that.
std::uint16_t quantiseGroup(std::span<const float> values, const Coding& coding, Codes& codes, SquaredError& error)
{
    Group group{};
    std::ranges::copy(values, group.begin());
    const std::uint16_t stored = halfFromFloat(fittedScale(group, coding));
    const float scale = floatFromHalf(stored);
    codes.fill(0);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const float code = scale != 0 ? codeOf(values[i] / scale, coding) : 0;
        codes[i] = static_cast<std::int8_t>(code);
        error.add(values[i], scale * code);
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
