#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace waste {

// 0.5·t·(1 + erf(t/√2)), of the projector, in place (spec: vision 3.4).
void geluErf(std::span<float> values);

// Bilinear resize of a grid of rows of `width` floats, half-pixel centres, clamped edges (spec: vision 3.1).
// values [fromRows][fromColumns][width] → [toRows][toColumns][width]
std::vector<float> resizeGrid(std::span<const float> values, std::size_t width, std::uint32_t fromRows,
    std::uint32_t fromColumns, std::uint32_t toRows, std::uint32_t toColumns);

// Cosines and sines of the two-dimensional rotation (spec: vision 3.2): of neighbouring components
// (2j, 2j+1), even j turn with the patch's column and odd j with its row, both by frequency ⌊j/2⌋.
class PatchRotation {
public:
    PatchRotation(std::uint32_t headDim, std::uint32_t rows, std::uint32_t columns);

    // Turns one head [headDim] of the patch at (row, column).
    void apply(std::span<float> head, std::uint32_t row, std::uint32_t column) const;

private:
    struct Turn {
        float cosine;
        float sine;
    };
    std::size_t m_frequencies;
    std::vector<Turn> m_turns; // [max(rows, columns)][frequencies]
};

} // namespace waste
