#pragma once

#include "kernels/kernel_table.h"
#include "kernels/matrix_product.h"

#include <cstddef>
#include <cstdint>

namespace waste::kernels {

// Products of a matrix with so many vectors that its rows are worth being unpacked and turned into panels first:
// pictures. From about 40 vectors on they are faster than multiply().

inline constexpr std::size_t kPanelDepth = 256; // columns at a time: a panel of them fits the first-level cache
inline constexpr std::size_t kPanelsTogether = 8; // fit the second-level cache with the vectors
inline constexpr std::size_t kPanelGrain = kPanelRows * kPanelsTogether; // rows of one piece of work
inline constexpr std::size_t kPanelTokens =
    12; // vectors that are copied together, which keeps them apart in the caches
// Scratch of one worker.
inline constexpr std::size_t kPanelScratchFloats =
    (kPanelsTogether * kPanelRows + kPanelRows + kPanelTokens) * kPanelDepth;

enum class Sum : std::uint8_t { New, Added }; // to what y held

// Rows begin..end-1. A row's result does not depend on begin and end.
void multiplyPanels(const KernelTable& kernels, const MatrixView& matrix, const TokenInput& input,
    const TokenOutput& output, std::uint32_t begin, std::uint32_t end, Sum sum, float* scratch);

} // namespace waste::kernels
