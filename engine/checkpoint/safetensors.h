#pragma once

#include "checkpoint/dequantize.h"
#include "waste/result.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace waste {

// One tensor as a safetensors header states it, validated: its bytes are inside the file and are exactly
// as many as shape and type need.
struct SafetensorsEntry {
    std::string name;
    TensorType type = TensorType::F32;
    std::vector<std::uint64_t> shape; // at most 8 dimensions, each at most 2^31; none: one element
    std::uint64_t offsetBytes = 0; // from the start of the file
    std::uint64_t bytes = 0;
};

struct SafetensorsHeader {
    std::vector<SafetensorsEntry> entries; // ascending by name
    bool hasHoles = false; // bytes that belong to no tensor: against the format, but harmless
};

// A file is: u64 header length, header JSON, data.
inline constexpr std::uint64_t kSafetensorsPreambleBytes = 8;
inline constexpr std::uint64_t kSafetensorsHeaderBytesMax = 100'000'000;

// The length of the JSON, checked against the file's size. `preamble` is the first 8 bytes as a number.
Result<std::uint64_t> safetensorsHeaderBytes(std::uint64_t preamble, std::uint64_t fileBytes, std::string_view file);

// Parses a header's JSON. `fileBytes` is the size of the whole file, `file` its name for messages. Everything
// that conversion 1.1 asks for is checked. Errors: Corrupt, Unsupported (an unknown type); both name file and tensor.
Result<SafetensorsHeader> parseSafetensorsHeader(std::string_view json, std::uint64_t fileBytes, std::string_view file);

// Number of elements of a validated shape.
std::uint64_t elementCount(std::span<const std::uint64_t> shape);

} // namespace waste
