#pragma once

#include "waste/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace waste {

// Element types of the safetensors format.
enum class TensorType : std::uint8_t {
    F64,
    F32,
    F16,
    Bf16,
    I64,
    I32,
    I16,
    I8,
    U64,
    U32,
    U16,
    U8,
    Bool,
    F8E4M3,
    F8E5M2
};

std::optional<TensorType> tensorTypeFromName(std::string_view name); // "BF16", ...
std::string_view tensorTypeName(TensorType type);
std::uint32_t tensorTypeBytes(TensorType type);

// Whether convertToF32() knows the type: F32, F16, BF16.
bool isConvertibleToF32(TensorType type);

// Exact, subnormals included. `source` holds target.size() elements of a convertible type.
void convertToF32(TensorType type, std::span<const std::byte> source, std::span<float> target);

inline constexpr std::uint32_t kMxfp4GroupColumns = 32;

// MXFP4 as published (spec: model 4): two columns a byte, the even one in the low nibble; one E8M0 scale
// byte a group of 32 columns, byte 0 meaning scale 0. target.size() is a multiple of 32; `packed` holds half
// and `scales` a 32nd of that many bytes. Exact. Returns the index of the first scale byte 255 (NaN in
// E8M0, so damage), if there is one.
std::optional<std::size_t> decodeMxfp4(
    std::span<const std::byte> packed, std::span<const std::byte> scales, std::span<float> target);

} // namespace waste
