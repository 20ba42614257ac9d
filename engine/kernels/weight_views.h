#pragma once

#include <cstddef>
#include <cstdint>

namespace waste::kernels {

// Stored forms of a dense matrix (spec: container 7). The numbers are those of the file format.
enum class WeightFormat : std::uint8_t { F32 = 0, Q8G = 2, Q4G = 3, Q3G = 7 };

// A dense matrix in memory, row-major [rows][columns]; element = scale[r][c / group] · q[r][c].
// Owns nothing. Payload is 64-byte aligned, scales 2-byte aligned.
struct MatrixView {
    WeightFormat format = WeightFormat::F32;
    std::uint32_t rows = 0;
    std::uint32_t columns = 0;
    std::uint32_t group = 128; // columns per scale; the last group of a row may be partial
    std::uint64_t rowBytes = 0; // payload bytes from row to row
    const std::byte* payload = nullptr;
    const std::uint16_t* scales = nullptr; // f16 [rows][ceil(columns / group)]; null for F32
};

// One matrix of a routed expert as residual vector-quantiser indices (spec: container 3 to 5):
// W[r][vecDim·v + j] = scale[r] · Σ_s codebook[s][index(r, v, s)][j], stages added in ascending order.
struct VqMatrixView {
    std::uint32_t rows = 0;
    std::uint32_t columns = 0; // a multiple of vecDim
    std::uint8_t vecDim = 8;
    std::uint8_t stages = 3;
    std::uint8_t indexBits = 8; // 8, or 6 with 4 stages packed into 3 bytes
    std::uint8_t indexBlock = 64; // rows per block; 0 = row-major
    const std::uint8_t* indices = nullptr;
    const std::uint16_t* scales = nullptr; // f16 [rows]
    // f32 [stages][256][vecDim]; rows from `entries` on are zero, so any index byte is safe.
    const float* codebooks = nullptr;
};

} // namespace waste::kernels
