#include "checkpoint/dequantize.h"

#include "base/half.h"
#include "base/little_endian.h"

#include <array>
#include <bit>
#include <cassert>
#include <cstring>

namespace waste {
namespace {

struct TypeFacts {
    std::string_view name;
    TensorType type;
    std::uint32_t bytes;
};

constexpr std::array<TypeFacts, 15> kTypes = {{
    {"F64", TensorType::F64, 8},
    {"F32", TensorType::F32, 4},
    {"F16", TensorType::F16, 2},
    {"BF16", TensorType::Bf16, 2},
    {"I64", TensorType::I64, 8},
    {"I32", TensorType::I32, 4},
    {"I16", TensorType::I16, 2},
    {"I8", TensorType::I8, 1},
    {"U64", TensorType::U64, 8},
    {"U32", TensorType::U32, 4},
    {"U16", TensorType::U16, 2},
    {"U8", TensorType::U8, 1},
    {"BOOL", TensorType::Bool, 1},
    {"F8_E4M3", TensorType::F8E4M3, 1},
    {"F8_E5M2", TensorType::F8E5M2, 1},
}};

const TypeFacts& factsOf(TensorType type)
{
    const TypeFacts& facts = kTypes[static_cast<std::size_t>(type)];
    assert(facts.type == type); // the table follows the enumeration
    return facts;
}

constexpr std::array<float, 16> kE2m1 = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6, -0.0F, -0.5F, -1, -1.5F, -2, -3, -4, -6};

constexpr std::uint8_t kScaleNan = 255;

// 2^(e − 127). e = 1 is the smallest normal number, so the bits of the exponent field say it all; e = 0 is
// scale 0 (spec: conversion 1.2).
float scaleFromE8m0(std::uint8_t exponent)
{
    return std::bit_cast<float>(std::uint32_t{exponent} << 23);
}

} // namespace

std::optional<TensorType> tensorTypeFromName(std::string_view name)
{
    for (const TypeFacts& facts : kTypes) {
        if (facts.name == name)
            return facts.type;
    }
    return std::nullopt;
}

std::string_view tensorTypeName(TensorType type)
{
    return factsOf(type).name;
}

std::uint32_t tensorTypeBytes(TensorType type)
{
    return factsOf(type).bytes;
}

bool isConvertibleToF32(TensorType type)
{
    return type == TensorType::F32 || type == TensorType::F16 || type == TensorType::Bf16;
}

void convertToF32(TensorType type, std::span<const std::byte> source, std::span<float> target)
{
    assert(isConvertibleToF32(type));
    assert(source.size() == target.size() * tensorTypeBytes(type));
    if (type == TensorType::F32) {
        std::memcpy(target.data(), source.data(), source.size());
        return;
    }
    const bool isHalf = type == TensorType::F16;
    for (std::size_t i = 0; i < target.size(); ++i) {
        const auto bits = loadLittle<std::uint16_t>(source, 2 * i);
        target[i] = isHalf ? floatFromHalf(bits) : floatFromBfloat16(bits);
    }
}

std::optional<std::size_t> decodeMxfp4(
    std::span<const std::byte> packed, std::span<const std::byte> scales, std::span<float> target)
{
    assert(target.size() % kMxfp4GroupColumns == 0);
    assert(packed.size() == target.size() / 2);
    assert(scales.size() == target.size() / kMxfp4GroupColumns);
    constexpr std::size_t kGroupBytes = kMxfp4GroupColumns / 2;
    for (std::size_t group = 0; group < scales.size(); ++group) {
        const auto exponent = static_cast<std::uint8_t>(scales[group]);
        if (exponent == kScaleNan)
            return group;
        const float scale = scaleFromE8m0(exponent);
        for (std::size_t i = 0; i < kGroupBytes; ++i) {
            const auto byte = static_cast<std::uint8_t>(packed[group * kGroupBytes + i]);
            float* pair = target.data() + group * kMxfp4GroupColumns + 2 * i;
            pair[0] = kE2m1[byte & 0xFU] * scale;
            pair[1] = kE2m1[byte >> 4U] * scale;
        }
    }
    return std::nullopt;
}

} // namespace waste
