#if defined(__x86_64__)

#include "kernels/x86_avx512.h"

// Matrix products in f32. A sum goes straight through the columns, in a lane of its own or, where both sides lie along
// the columns, in sixteen lanes that are folded at the end; whatever is computed beside it.

namespace waste::kernels {

namespace {

// ---- panels: twelve tokens × sixteen rows in twelve sums, each step one load of weights and one broadcast a token

constexpr std::size_t kTokensTogether = 12;
static_assert(kPanelRows == kFloats);

template<std::size_t kTokens>
void multiplyTogether(const KernelTable::PanelTimesTokens& product, std::size_t token)
{
    // Three tokens a pointer: their addresses are then part of the instructions.
    constexpr std::size_t kPointers = (kTokens + 2) / 3;
    const std::size_t stride = product.xStride;
    const float* inputs[kPointers];
    for (std::size_t i = 0; i < kPointers; ++i)
        inputs[i] = product.x + (token + 3 * i) * stride;
    __m512 sums[kTokens] = {};
    for (std::size_t c = 0; c < product.columns; ++c) {
        const __m512 weights = _mm512_loadu_ps(product.panel + c * kPanelRows);
#pragma GCC unroll 12
        for (std::size_t t = 0; t < kTokens; ++t)
            sums[t] = _mm512_fmadd_ps(weights, _mm512_set1_ps(inputs[t / 3][t % 3 * stride + c]), sums[t]);
    }
    const __mmask16 rows = firstLanes(product.rows);
#pragma GCC unroll 12
    for (std::size_t t = 0; t < kTokens; ++t) {
        float* const y = product.y + (token + t) * product.yStride;
        const __m512 before = product.accumulate ? _mm512_maskz_loadu_ps(rows, y) : _mm512_setzero_ps();
        _mm512_mask_storeu_ps(y, rows, product.accumulate ? _mm512_add_ps(before, sums[t]) : sums[t]);
    }
}

// ---- sums of products of a column of a with a row of b

constexpr std::size_t kRowsTogether = 12; // by two registers are 24 sums; the loads then keep up with them

// kRows rows × kRegisters registers of columns; in the last one only those of `mask` are there.
template<std::size_t kRows, std::size_t kRegisters>
void addBlock(const KernelTable::AddedProduct& product, std::size_t row, std::size_t column, __mmask16 mask)
{
    const auto maskOf = [mask](std::size_t n) { return n + 1 < kRegisters ? __mmask16{0xFFFF} : mask; };
    constexpr std::size_t kPointers = (kRows + 2) / 3;
    const std::size_t stride = product.aRowStride;
    const float* a[kPointers];
    for (std::size_t i = 0; i < kPointers; ++i)
        a[i] = product.a + (row + 3 * i) * stride;
    const float* b = product.b + column;
    __m512 sums[kRows][kRegisters] = {};
    for (std::size_t k = 0; k < product.depth; ++k, b += product.bStride) {
        // Many rows side by side are no stream to the processor, so the next ones are fetched meanwhile: latent
        // attention of a token takes 8 % less time.
        if (kRows == kRowsTogether && product.aDepthStride == 1 && k % kFloats == 0) {
#pragma GCC unroll 12
            for (std::size_t r = 0; r < kRows; ++r)
                _mm_prefetch(a[r / 3] + (r % 3 + kRows) * stride, _MM_HINT_T0);
        }
        __m512 values[kRegisters];
        for (std::size_t n = 0; n < kRegisters; ++n)
            values[n] = _mm512_maskz_loadu_ps(maskOf(n), b + n * kFloats);
        for (std::size_t r = 0; r < kRows; ++r) {
            const __m512 factor = _mm512_set1_ps(a[r / 3][r % 3 * stride]);
            for (std::size_t n = 0; n < kRegisters; ++n)
                sums[r][n] = _mm512_fmadd_ps(factor, values[n], sums[r][n]);
        }
        for (const float*& pointer : a)
            pointer += product.aDepthStride;
    }
#pragma GCC unroll 12
    for (std::size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
        for (std::size_t n = 0; n < kRegisters; ++n) {
            float* const c = product.c + (row + r) * product.cStride + column + n * kFloats;
            const __m512 before = _mm512_maskz_loadu_ps(maskOf(n), c);
            _mm512_mask_storeu_ps(c, maskOf(n), _mm512_add_ps(before, sums[r][n]));
        }
    }
}

// One or two registers of columns for all rows: b, which may lie in memory, is read once.
template<std::size_t kRegisters>
void addColumns(const KernelTable::AddedProduct& product, std::size_t column, __mmask16 mask)
{
    std::size_t row = 0;
    // Sixteen are better taken as eight and eight than as twelve and four.
    for (; product.rows - row >= kRowsTogether && product.rows - row != 16; row += kRowsTogether)
        addBlock<kRowsTogether, kRegisters>(product, row, column, mask);
    for (; row + 8 <= product.rows; row += 8)
        addBlock<8, kRegisters>(product, row, column, mask);
    for (; row + 4 <= product.rows; row += 4)
        addBlock<4, kRegisters>(product, row, column, mask);
    for (; row + 2 <= product.rows; row += 2)
        addBlock<2, kRegisters>(product, row, column, mask);
    if (row < product.rows)
        addBlock<1, kRegisters>(product, row, column, mask);
}

// ---- rows times tokens, both along the columns

template<std::size_t kRows, std::size_t kTokens>
void multiplyBlock(const KernelTable::RowsTimesTokens& product, std::size_t row, std::size_t token)
{
    const float* const w = product.w + row * product.wStride;
    const float* const x = product.x + token * product.xStride;
    __m512 sums[kRows][kTokens] = {};
    const auto step = [&](auto load, std::size_t column) {
        __m512 inputs[kTokens];
        for (std::size_t t = 0; t < kTokens; ++t)
            inputs[t] = load(x + t * product.xStride + column);
        for (std::size_t r = 0; r < kRows; ++r) {
            const __m512 weights = load(w + r * product.wStride + column);
            for (std::size_t t = 0; t < kTokens; ++t)
                sums[r][t] = _mm512_fmadd_ps(weights, inputs[t], sums[r][t]);
        }
    };
    std::size_t column = 0;
    for (; column + kFloats <= product.columns; column += kFloats)
        step([](const float* p) { return _mm512_loadu_ps(p); }, column);
    if (column < product.columns) {
        const __mmask16 mask = firstLanes(product.columns - column);
        step([mask](const float* p) { return _mm512_maskz_loadu_ps(mask, p); }, column);
    }
#pragma GCC unroll 4
    for (std::size_t t = 0; t < kTokens; ++t) {
        float* const y = product.y + (token + t) * product.yStride + row;
#pragma GCC unroll 4
        for (std::size_t r = 0; r < kRows; ++r) {
            const float sum = _mm512_reduce_add_ps(sums[r][t]);
            y[r] = product.accumulate ? y[r] + sum : sum;
        }
    }
}

template<std::size_t kRows>
void multiplyRowBlock(const KernelTable::RowsTimesTokens& product, std::size_t row)
{
    std::size_t token = 0;
    for (; token + 4 <= product.tokens; token += 4)
        multiplyBlock<kRows, 4>(product, row, token);
    for (; token + 2 <= product.tokens; token += 2)
        multiplyBlock<kRows, 2>(product, row, token);
    if (token < product.tokens)
        multiplyBlock<kRows, 1>(product, row, token);
}

} // namespace

namespace avx512 {

void multiplyPanel(const KernelTable::PanelTimesTokens& product)
{
    using Multiply = void (*)(const KernelTable::PanelTimesTokens&, std::size_t);
    static constexpr Multiply kLast[] = {multiplyTogether<1>, multiplyTogether<2>, multiplyTogether<3>,
        multiplyTogether<4>, multiplyTogether<5>, multiplyTogether<6>, multiplyTogether<7>, multiplyTogether<8>,
        multiplyTogether<9>, multiplyTogether<10>, multiplyTogether<11>};
    std::size_t token = 0;
    for (; product.tokens - token >= kTokensTogether; token += kTokensTogether)
        multiplyTogether<kTokensTogether>(product, token);
    if (token < product.tokens)
        kLast[product.tokens - token - 1](product, token);
}

void addProduct(const KernelTable::AddedProduct& product)
{
    std::size_t column = 0;
    for (; column + kFloats < product.columns; column += 2 * kFloats) {
        const std::size_t rest = product.columns - column - kFloats;
        addColumns<2>(product, column, firstLanes(rest < kFloats ? rest : kFloats));
    }
    if (column < product.columns)
        addColumns<1>(product, column, firstLanes(product.columns - column));
}

void multiplyTokens(const KernelTable::RowsTimesTokens& product)
{
    std::size_t row = 0;
    for (; row + 4 <= product.rows; row += 4)
        multiplyRowBlock<4>(product, row);
    for (; row < product.rows; ++row)
        multiplyRowBlock<1>(product, row);
}

} // namespace avx512
} // namespace waste::kernels
#endif
