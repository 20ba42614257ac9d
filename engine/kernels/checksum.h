#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace waste::kernels {

// waste::crc32() at the speed of memory where the CPU multiplies without carries: for what is checked while it
// streams from a disk, which the plain one could not keep up with. Any thread. WASTE_ISA=scalar takes the plain one.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t previous = 0);

// How crc32() works here: "clmul", "pmull" or "slice8".
const char* crc32Method();

} // namespace waste::kernels
