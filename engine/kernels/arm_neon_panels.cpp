#if defined(__aarch64__)

#include "kernels/arm_neon.h"

// Matrix products over panels: 6 tokens × 16 rows in 24 registers. A row's sum goes straight through the columns, in
// one lane, whatever is computed beside it.

namespace waste::kernels {

namespace {

constexpr std::size_t kTokensTogether = 6;
constexpr std::size_t kQuarters = kPanelRows / kWidth;

template<std::size_t kTokens>
void multiplyTogether(const KernelTable::PanelTimesTokens& product, std::size_t token)
{
    const float* const x = product.x + token * product.xStride;
    const float* panel = product.panel;
    float32x4_t sums[kTokens][kQuarters] = {};
    for (std::size_t c = 0; c < product.columns; ++c, panel += kPanelRows) {
        float32x4_t weights[kQuarters];
#pragma GCC unroll 4
        for (std::size_t quarter = 0; quarter < kQuarters; ++quarter)
            weights[quarter] = vld1q_f32(panel + quarter * kWidth);
#pragma GCC unroll 6
        for (std::size_t t = 0; t < kTokens; ++t) {
            const float input = x[t * product.xStride + c];
#pragma GCC unroll 4
            for (std::size_t quarter = 0; quarter < kQuarters; ++quarter)
                sums[t][quarter] = vfmaq_n_f32(sums[t][quarter], weights[quarter], input);
        }
    }
#pragma GCC unroll 6
    for (std::size_t t = 0; t < kTokens; ++t) {
        float* const y = product.y + (token + t) * product.yStride;
#pragma GCC unroll 4
        for (std::size_t quarter = 0; quarter < kQuarters; ++quarter) {
            if (quarter * kWidth >= product.rows)
                break;
            float* const target = y + quarter * kWidth;
            const std::size_t rows = smaller(product.rows - quarter * kWidth, kWidth);
            const float32x4_t before = product.accumulate ? loadFirst(target, rows) : vdupq_n_f32(0);
            storeFirst(target, vaddq_f32(before, sums[t][quarter]), rows);
        }
    }
}

} // namespace

namespace neon {

void packPanel(const float* w, std::size_t wStride, std::size_t rows, std::size_t columns, float* panel)
{
    for (std::size_t c = 0; c < columns; ++c) {
        for (std::size_t r = 0; r < kPanelRows; ++r)
            panel[c * kPanelRows + r] = r < rows ? w[r * wStride + c] : 0;
    }
}

void multiplyPanel(const KernelTable::PanelTimesTokens& product)
{
    std::size_t token = 0;
    for (; product.tokens - token >= kTokensTogether; token += kTokensTogether)
        multiplyTogether<kTokensTogether>(product, token);
    for (; product.tokens - token >= 2; token += 2)
        multiplyTogether<2>(product, token);
    if (product.tokens - token == 1)
        multiplyTogether<1>(product, token);
}

} // namespace neon
} // namespace waste::kernels
#endif
