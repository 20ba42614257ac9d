#if defined(__x86_64__)

#include "kernels/x86_avx2.h"

// Matrix products over panels: 6 tokens × 16 rows in twelve registers, each step two loads of weights and one
// broadcast a token, so that the multiply-adds and not the loads are the limit. A row's sum goes straight through
// the columns, in one lane, whatever is computed beside it.

namespace waste::kernels {

namespace {

constexpr std::size_t kTokensTogether = 6;

// 8 rows × 8 columns, turned.
void turnBlock(const __m256 (&rows)[kWidth], float* target)
{
    __m256 pairs[kWidth];
    for (std::size_t i = 0; i < kWidth; i += 2) {
        pairs[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
        pairs[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
    }
    __m256 quads[kWidth];
    for (std::size_t i = 0; i < kWidth; i += 4) {
        quads[i] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
        quads[i + 1] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0xEE);
        quads[i + 2] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44);
        quads[i + 3] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xEE);
    }
    for (std::size_t i = 0; i < kWidth / 2; ++i) {
        _mm256_storeu_ps(target + i * kPanelRows, _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x20));
        _mm256_storeu_ps(target + (i + 4) * kPanelRows, _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x31));
    }
}

// The first `rows` of eight sums.
inline void store(float* y, __m256 sums, std::size_t rows, bool accumulate)
{
    if (rows >= kWidth) {
        _mm256_storeu_ps(y, accumulate ? _mm256_add_ps(_mm256_loadu_ps(y), sums) : sums);
        return;
    }
    const __m256i mask = maskOf(rows);
    _mm256_maskstore_ps(y, mask, accumulate ? _mm256_add_ps(_mm256_maskload_ps(y, mask), sums) : sums);
}

// Its loops over tokens must be unrolled early: an index that is left at run time keeps the sums in memory, a third
// of the speed.
template<std::size_t kTokens>
void multiplyTogether(const KernelTable::PanelTimesTokens& product, std::size_t token)
{
    // Three tokens a pointer: their addresses are then part of the loads.
    const std::size_t stride = product.xStride;
    const float* first = product.x + token * stride;
    const float* second = first + 3 * stride;
    const float* panel = product.panel;
    const float* const end = panel + product.columns * kPanelRows;
    __m256 sums[kTokens][2] = {};
    for (; panel != end; panel += kPanelRows, ++first, ++second) {
        const __m256 low = _mm256_loadu_ps(panel);
        const __m256 high = _mm256_loadu_ps(panel + kWidth);
#pragma GCC unroll 6
        for (std::size_t t = 0; t < kTokens; ++t) {
            const __m256 input = _mm256_broadcast_ss((t < 3 ? first : second) + t % 3 * stride);
            sums[t][0] = _mm256_fmadd_ps(low, input, sums[t][0]);
            sums[t][1] = _mm256_fmadd_ps(high, input, sums[t][1]);
        }
    }
#pragma GCC unroll 6
    for (std::size_t t = 0; t < kTokens; ++t) {
        float* const y = product.y + (token + t) * product.yStride;
        store(y, sums[t][0], product.rows, product.accumulate);
        if (product.rows > kWidth)
            store(y + kWidth, sums[t][1], product.rows - kWidth, product.accumulate);
    }
}

} // namespace

namespace avx2 {

void packPanel(const float* w, std::size_t wStride, std::size_t rows, std::size_t columns, float* panel)
{
    for (std::size_t first = 0; first < kPanelRows; first += kWidth) {
        std::size_t c = 0;
        for (; c < columns; c += kWidth) {
            const std::size_t left = columns - c < kWidth ? columns - c : kWidth;
            const __m256i mask = maskOf(left);
            __m256 block[kWidth];
            for (std::size_t r = 0; r < kWidth; ++r) {
                const bool isThere = first + r < rows;
                block[r] = isThere ? _mm256_maskload_ps(w + (first + r) * wStride + c, mask) : _mm256_setzero_ps();
            }
            if (left == kWidth) {
                turnBlock(block, panel + c * kPanelRows + first);
                continue;
            }
            float turned[kWidth * kPanelRows];
            turnBlock(block, turned);
            for (std::size_t k = 0; k < left; ++k)
                _mm256_storeu_ps(panel + (c + k) * kPanelRows + first, _mm256_loadu_ps(turned + k * kPanelRows));
        }
    }
}

void multiplyPanel(const KernelTable::PanelTimesTokens& product)
{
    std::size_t token = 0;
    for (; product.tokens - token >= kTokensTogether; token += kTokensTogether)
        multiplyTogether<kTokensTogether>(product, token);
    switch (product.tokens - token) {
    case 5:
        return multiplyTogether<5>(product, token);
    case 4:
        return multiplyTogether<4>(product, token);
    case 3:
        return multiplyTogether<3>(product, token);
    case 2:
        return multiplyTogether<2>(product, token);
    case 1:
        return multiplyTogether<1>(product, token);
    default:
        return;
    }
}

} // namespace avx2
} // namespace waste::kernels
#endif
