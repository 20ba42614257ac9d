#pragma once

#include "checkpoint/dequantize.h"
#include "waste/result.h"

#include <cstddef>
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

inline constexpr std::uint64_t kSafetensorsHeaderBytesMax = 100'000'000;

struct SafetensorsHeader {
    std::vector<SafetensorsEntry> entries; // ascending by name
    bool hasHoles = false; // bytes that belong to no tensor; legal to read, worth a warning
};

// Parses the JSON of a header whose data section follows at `dataOffset` and is `dataBytes` long. Everything
// of conversion 1.1 is checked. `file` names the file in messages. Errors: Corrupt, Unsupported (type).
Result<SafetensorsHeader> parseSafetensorsHeader(
    std::string_view json, std::uint64_t dataOffset, std::uint64_t dataBytes, std::string_view file);

// Numbers of elements of a shape whose product is known to fit.
std::uint64_t elementCount(std::span<const std::uint64_t> shape);

} // namespace waste
