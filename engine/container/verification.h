#pragma once

#include <cstdint>

namespace waste {

// How thoroughly weights are checked when they are read. Headers are always checked; Full adds checksums,
// the range of indices and the finiteness of scales, at the cost of one pass over the bytes.
enum class Verification : std::uint8_t { Headers, Full };

} // namespace waste
