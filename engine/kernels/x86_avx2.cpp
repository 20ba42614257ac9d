#if defined(__x86_64__)

#include "kernels/x86_avx2.h"

// Loops over f32 for AVX2 with FMA. Each output element has a fixed structure of lanes, whatever else is computed
// beside it. Ends of rows are read through masks, as zeros.

namespace waste::kernels {

namespace {

// ---- vector math: e^x, σ and tanh within 2 units in the last place

// e^x = 2^n · e^r with |r| ≤ ln2 / 2; the polynomial is the Taylor series, whose rest is below 2^-26 there.
__m256 exp8(__m256 x)
{
    // Below −104 the result is 0, above 89 infinite. The order of operands lets a NaN through.
    x = _mm256_max_ps(_mm256_set1_ps(-104.0F), x);
    x = _mm256_min_ps(_mm256_set1_ps(89.0F), x);
    const __m256 n =
        _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504F)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    // ln2 in two parts, the first with zeros at its end, so that n times it is exact.
    __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375F), x);
    r = _mm256_fnmadd_ps(n, _mm256_set1_ps(-2.12194440e-4F), r);
    __m256 p = _mm256_set1_ps(1.0F / 5040);
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0F / 720));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0F / 120));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0F / 24));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0F / 6));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0.5F));
    p = _mm256_fmadd_ps(_mm256_mul_ps(p, r), r, r);
    p = _mm256_add_ps(p, _mm256_set1_ps(1.0F));
    // 2^n in two steps: n reaches from −150 to 128, outside of what one exponent field holds.
    const __m256i whole = _mm256_cvtps_epi32(n);
    const __m256i half = _mm256_srai_epi32(whole, 1);
    const __m256i bias = _mm256_set1_epi32(127);
    const __m256i first = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
    const __m256i second = _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(whole, half), bias), 23);
    return _mm256_mul_ps(_mm256_mul_ps(p, _mm256_castsi256_ps(first)), _mm256_castsi256_ps(second));
}

__m256 sigmoid8(__m256 x)
{
    const __m256 one = _mm256_set1_ps(1.0F);
    return _mm256_div_ps(one, _mm256_add_ps(one, exp8(_mm256_sub_ps(_mm256_setzero_ps(), x))));
}

// An odd polynomial near 0, where 1 − 2/(e^2x + 1) would cancel.
__m256 tanh8(__m256 x)
{
    const __m256 sign = _mm256_and_ps(x, _mm256_set1_ps(-0.0F));
    const __m256 magnitude = _mm256_andnot_ps(_mm256_set1_ps(-0.0F), x);
    const __m256 square = _mm256_mul_ps(x, x);
    __m256 p = _mm256_set1_ps(-5.70498872745e-3F);
    p = _mm256_fmadd_ps(p, square, _mm256_set1_ps(2.06390887954e-2F));
    p = _mm256_fmadd_ps(p, square, _mm256_set1_ps(-5.37397155531e-2F));
    p = _mm256_fmadd_ps(p, square, _mm256_set1_ps(1.33314422036e-1F));
    p = _mm256_fmadd_ps(p, square, _mm256_set1_ps(-3.33332819422e-1F));
    const __m256 nearZero = _mm256_fmadd_ps(_mm256_mul_ps(p, square), x, x);
    const __m256 one = _mm256_set1_ps(1.0F);
    const __m256 growth = _mm256_add_ps(exp8(_mm256_add_ps(magnitude, magnitude)), one);
    const __m256 far = _mm256_or_ps(_mm256_sub_ps(one, _mm256_div_ps(_mm256_set1_ps(2.0F), growth)), sign);
    return _mm256_blendv_ps(far, nearZero, _mm256_cmp_ps(magnitude, _mm256_set1_ps(0.625F), _CMP_LT_OQ));
}

// ln w for 1 ≤ w ≤ 2, by a polynomial in w − 1 or w/2 − 1, whichever is smaller.
__m256 logOneToTwo8(__m256 w)
{
    const __m256 one = _mm256_set1_ps(1.0F);
    const __m256 isUpper = _mm256_cmp_ps(w, _mm256_set1_ps(1.41421356F), _CMP_GT_OQ);
    const __m256 halved = _mm256_blendv_ps(w, _mm256_mul_ps(w, _mm256_set1_ps(0.5F)), isUpper);
    const __m256 exponent = _mm256_and_ps(isUpper, one);
    const __m256 x = _mm256_sub_ps(halved, one);
    const __m256 square = _mm256_mul_ps(x, x);
    __m256 p = _mm256_set1_ps(7.0376836292e-2F);
    constexpr float kCoefficients[] = {-1.1514610310e-1F, 1.1676998740e-1F, -1.2420140846e-1F, 1.4249322787e-1F,
        -1.6668057665e-1F, 2.0000714765e-1F, -2.4999993993e-1F, 3.3333331174e-1F};
    for (const float coefficient : kCoefficients)
        p = _mm256_fmadd_ps(p, x, _mm256_set1_ps(coefficient));
    __m256 sum = _mm256_mul_ps(_mm256_mul_ps(p, x), square);
    sum = _mm256_fmadd_ps(exponent, _mm256_set1_ps(-2.12194440e-4F), sum);
    sum = _mm256_fmadd_ps(square, _mm256_set1_ps(-0.5F), sum);
    return _mm256_fmadd_ps(exponent, _mm256_set1_ps(0.693359375F), _mm256_add_ps(x, sum));
}

// ln(1 + e^z) = max(z, 0) + ln(1 + u) with u = e^−|z|. 1 + u loses digits of u, but by the same factor in ln(1 + u) as
// in (1 + u) − 1.
__m256 softplus8(__m256 z)
{
    const __m256 one = _mm256_set1_ps(1.0F);
    const __m256 u = exp8(_mm256_or_ps(z, _mm256_set1_ps(-0.0F)));
    const __m256 w = _mm256_add_ps(one, u);
    const __m256 rounded = _mm256_sub_ps(w, one);
    const __m256 isLost = _mm256_cmp_ps(rounded, _mm256_setzero_ps(), _CMP_EQ_OQ);
    const __m256 log1p = _mm256_mul_ps(logOneToTwo8(w), _mm256_div_ps(u, rounded));
    return _mm256_add_ps(_mm256_max_ps(_mm256_setzero_ps(), z), _mm256_blendv_ps(log1p, u, isLost));
}

// y[i] ← f(y[i], x[i]), eight at a time.
template<typename Function>
void transform(const float* x, float* y, std::size_t count, Function function)
{
    std::size_t i = 0;
    for (; i + kWidth <= count; i += kWidth)
        _mm256_storeu_ps(y + i, function(_mm256_loadu_ps(y + i), _mm256_loadu_ps(x + i)));
    if (i < count) {
        const __m256i mask = maskOf(count - i);
        _mm256_maskstore_ps(y + i, mask, function(_mm256_maskload_ps(y + i, mask), _mm256_maskload_ps(x + i, mask)));
    }
}

void multiplySigmoid(const float* t, float* y, std::size_t count)
{
    transform(t, y, count, [](__m256 value, __m256 gate) { return _mm256_mul_ps(value, sigmoid8(gate)); });
}

void siluInPlace(float* x, std::size_t count)
{
    transform(x, x, count, [](__m256 value, __m256) { return _mm256_mul_ps(value, sigmoid8(value)); });
}

void geluTanh(float* x, std::size_t count)
{
    const __m256 one = _mm256_set1_ps(1.0F);
    const __m256 half = _mm256_set1_ps(0.5F);
    const __m256 cubic = _mm256_set1_ps(0.044715F);
    const __m256 scale = _mm256_set1_ps(0.7978845608028654F); // √(2/π)
    transform(x, x, count, [=](__m256 u, __m256) {
        const __m256 cube = _mm256_mul_ps(_mm256_mul_ps(_mm256_mul_ps(cubic, u), u), u);
        const __m256 curve = tanh8(_mm256_mul_ps(scale, _mm256_add_ps(u, cube)));
        return _mm256_mul_ps(_mm256_mul_ps(half, u), _mm256_add_ps(one, curve));
    });
}

void silu(float* gate, const float* up, std::size_t count)
{
    transform(up, gate, count, [](__m256 g, __m256 u) { return _mm256_mul_ps(_mm256_mul_ps(g, sigmoid8(g)), u); });
}

void situ(KernelTable::Situ parameters, float* gate, const float* up, std::size_t count)
{
    const __m256 beta = _mm256_set1_ps(parameters.beta);
    const __m256 linearBeta = _mm256_set1_ps(parameters.linearBeta);
    const bool squashUp = parameters.linearBeta != 0;
    transform(up, gate, count, [=](__m256 g, __m256 u) {
        if (squashUp)
            u = _mm256_mul_ps(linearBeta, tanh8(_mm256_div_ps(u, linearBeta)));
        const __m256 squashed = _mm256_mul_ps(beta, tanh8(_mm256_div_ps(g, beta)));
        return _mm256_mul_ps(_mm256_mul_ps(squashed, sigmoid8(g)), u);
    });
}

void logDecay(KernelTable::LogDecay parameters, const float* z, float* g, std::size_t count)
{
    const __m256 rate = _mm256_set1_ps(parameters.rate);
    if (parameters.lowerBound < 0) {
        const __m256 bound = _mm256_set1_ps(parameters.lowerBound);
        transform(
            z, g, count, [=](__m256, __m256 x) { return _mm256_mul_ps(bound, sigmoid8(_mm256_mul_ps(rate, x))); });
    } else {
        const __m256 factor = _mm256_set1_ps(-parameters.rate);
        transform(z, g, count, [=](__m256, __m256 x) { return _mm256_mul_ps(factor, softplus8(x)); });
    }
}

float expAndSum(float* x, float maximum, std::size_t count)
{
    const __m256 shift = _mm256_set1_ps(maximum);
    __m256 sum = _mm256_setzero_ps();
    std::size_t i = 0;
    for (; i + kWidth <= count; i += kWidth) {
        const __m256 value = exp8(_mm256_sub_ps(_mm256_loadu_ps(x + i), shift));
        _mm256_storeu_ps(x + i, value);
        sum = _mm256_add_ps(sum, value);
    }
    if (i < count) {
        const __m256i mask = maskOf(count - i);
        const __m256 value = exp8(_mm256_sub_ps(_mm256_maskload_ps(x + i, mask), shift));
        _mm256_maskstore_ps(x + i, mask, value);
        sum = _mm256_add_ps(sum, _mm256_and_ps(value, _mm256_castsi256_ps(mask)));
    }
    return sumLanes(sum);
}

void expOfDifference(const double* later, const double* earlier, float* values, std::size_t count)
{
    const auto narrowed = [&](std::size_t i) {
        return _mm256_cvtpd_ps(_mm256_sub_pd(_mm256_loadu_pd(later + i), _mm256_loadu_pd(earlier + i)));
    };
    std::size_t i = 0;
    for (; i + kWidth <= count; i += kWidth)
        _mm256_storeu_ps(values + i, exp8(_mm256_set_m128(narrowed(i + 4), narrowed(i))));
    if (i < count) {
        float rest[kWidth] = {};
        for (std::size_t k = 0; k < count - i; ++k)
            rest[k] = static_cast<float>(later[i + k] - earlier[i + k]);
        _mm256_maskstore_ps(values + i, maskOf(count - i), exp8(_mm256_loadu_ps(rest)));
    }
}

// ---- f32 loops

// Two independent sums halve the time each multiply-add waits for the one before it.
float dot(const float* x, const float* w, std::size_t count)
{
    __m256 even = _mm256_setzero_ps();
    __m256 odd = _mm256_setzero_ps();
    std::size_t i = 0;
    for (; i + 2 * kWidth <= count; i += 2 * kWidth) {
        even = _mm256_fmadd_ps(_mm256_loadu_ps(x + i), _mm256_loadu_ps(w + i), even);
        odd = _mm256_fmadd_ps(_mm256_loadu_ps(x + i + kWidth), _mm256_loadu_ps(w + i + kWidth), odd);
    }
    for (; i < count; i += kWidth) {
        const __m256i mask = maskOf(count - i < kWidth ? count - i : kWidth);
        even = _mm256_fmadd_ps(_mm256_maskload_ps(x + i, mask), _mm256_maskload_ps(w + i, mask), even);
    }
    return sumLanes(_mm256_add_ps(even, odd));
}

void addScaled(float a, const float* x, float* y, std::size_t count)
{
    const __m256 factor = _mm256_set1_ps(a);
    transform(x, y, count, [=](__m256 value, __m256 term) { return _mm256_fmadd_ps(factor, term, value); });
}

// kRows rows times kTokens vectors; every weight that is loaded serves all the vectors, and the reverse.
template<std::size_t kRows, std::size_t kTokens>
void multiplyBlock(const KernelTable::RowsTimesTokens& product, std::size_t row, std::size_t token)
{
    const float* const w = product.w + row * product.wStride;
    const float* const x = product.x + token * product.xStride;
    __m256 sums[kRows][kTokens] = {};
    const auto step = [&](auto load, std::size_t column) {
        __m256 inputs[kTokens];
        for (std::size_t t = 0; t < kTokens; ++t)
            inputs[t] = load(x + t * product.xStride + column);
        for (std::size_t r = 0; r < kRows; ++r) {
            const __m256 weights = load(w + r * product.wStride + column);
            for (std::size_t t = 0; t < kTokens; ++t)
                sums[r][t] = _mm256_fmadd_ps(weights, inputs[t], sums[r][t]);
        }
    };
    std::size_t column = 0;
    for (; column + kWidth <= product.columns; column += kWidth)
        step([](const float* p) { return _mm256_loadu_ps(p); }, column);
    if (column < product.columns) {
        const __m256i mask = maskOf(product.columns - column);
        step([mask](const float* p) { return _mm256_maskload_ps(p, mask); }, column);
    }
#pragma GCC unroll 8
    for (std::size_t t = 0; t < kTokens; ++t) {
        float* const y = product.y + (token + t) * product.yStride + row;
#pragma GCC unroll 8
        for (std::size_t r = 0; r < kRows; ++r)
            y[r] = product.accumulate ? y[r] + sumLanes(sums[r][t]) : sumLanes(sums[r][t]);
    }
}

template<std::size_t kRows>
void multiplyRowBlock(const KernelTable::RowsTimesTokens& product, std::size_t row)
{
    std::size_t token = 0;
    // Four are better taken as two and two than as three and one.
    for (; product.tokens - token >= 5 || product.tokens - token == 3; token += 3)
        multiplyBlock<kRows, 3>(product, row, token);
    for (; product.tokens - token >= 2; token += 2)
        multiplyBlock<kRows, 2>(product, row, token);
    if (product.tokens - token == 1)
        multiplyBlock<kRows, 1>(product, row, token);
}

void multiplyTokens(const KernelTable::RowsTimesTokens& product)
{
    std::size_t row = 0;
    for (; row + 4 <= product.rows; row += 4)
        multiplyRowBlock<4>(product, row);
    for (; row < product.rows; ++row)
        multiplyRowBlock<1>(product, row);
}

// kRows × (8·kRegisters) elements of c; `mask` is for the last, possibly partial, register.
template<std::size_t kRows, std::size_t kRegisters, bool kMasked>
void addBlock(const KernelTable::AddedProduct& product, std::size_t row, std::size_t column, __m256i mask)
{
    const auto load = [&](const float* p) { return kMasked ? _mm256_maskload_ps(p, mask) : _mm256_loadu_ps(p); };
    __m256 sums[kRows][kRegisters] = {};
    // A pointer for every three rows: one of them and twice the stride are the addresses that an instruction can form,
    // and the loop has no time for others.
    constexpr std::size_t kPointers = (kRows + 2) / 3;
    const std::size_t stride = product.aRowStride;
    const float* a[kPointers];
    for (std::size_t i = 0; i < kPointers; ++i)
        a[i] = product.a + (row + 3 * i) * stride;
    const float* b = product.b + column;
    for (std::size_t k = 0; k < product.depth; ++k, b += product.bStride) {
        __m256 values[kRegisters];
        for (std::size_t n = 0; n < kRegisters; ++n)
            values[n] = load(b + n * kWidth);
        for (std::size_t r = 0; r < kRows; ++r) {
            const __m256 factor = _mm256_broadcast_ss(a[r / 3] + r % 3 * stride);
            for (std::size_t n = 0; n < kRegisters; ++n)
                sums[r][n] = _mm256_fmadd_ps(factor, values[n], sums[r][n]);
        }
        for (const float*& pointer : a)
            pointer += product.aDepthStride;
    }
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
        for (std::size_t n = 0; n < kRegisters; ++n) {
            float* const c = product.c + (row + r) * product.cStride + column + n * kWidth;
            const __m256 value = _mm256_add_ps(load(c), sums[r][n]);
            if (kMasked)
                _mm256_maskstore_ps(c, mask, value);
            else
                _mm256_storeu_ps(c, value);
        }
    }
}

template<std::size_t kRows>
void addRowBlock(const KernelTable::AddedProduct& product, std::size_t row)
{
    const __m256i none = _mm256_setzero_si256();
    std::size_t column = 0;
    for (; column + 2 * kWidth <= product.columns; column += 2 * kWidth)
        addBlock<kRows, 2, false>(product, row, column, none);
    if (column + kWidth <= product.columns) {
        addBlock<kRows, 1, false>(product, row, column, none);
        column += kWidth;
    }
    if (column < product.columns)
        addBlock<kRows, 1, true>(product, row, column, maskOf(product.columns - column));
}

void addProduct(const KernelTable::AddedProduct& product)
{
    std::size_t row = 0;
    for (; row + 6 <= product.rows; row += 6)
        addRowBlock<6>(product, row);
    for (; row + 4 <= product.rows; row += 4)
        addRowBlock<4>(product, row);
    for (; row < product.rows; ++row)
        addRowBlock<1>(product, row);
}

// A column of S depends on its own entries only, so a strip of columns takes both passes at once and stays
// in the first-level cache between them.
template<std::size_t kRegisters, bool kMasked>
void kdaStrip(const KernelTable::KdaStep& step, std::size_t first, __m256i mask)
{
    const auto load = [&](const float* p) { return kMasked ? _mm256_maskload_ps(p, mask) : _mm256_loadu_ps(p); };
    const auto store = [&](float* p, __m256 value) {
        if (kMasked)
            _mm256_maskstore_ps(p, mask, value);
        else
            _mm256_storeu_ps(p, value);
    };
    __m256 sums[kRegisters] = {};
    for (std::size_t d = 0; d < step.dim; ++d) {
        float* const row = step.state + d * step.dim + first;
        const __m256 decay = _mm256_broadcast_ss(step.decay + d);
        const __m256 key = _mm256_broadcast_ss(step.key + d);
        for (std::size_t n = 0; n < kRegisters; ++n) {
            const __m256 decayed = _mm256_mul_ps(load(row + n * kWidth), decay);
            store(row + n * kWidth, decayed);
            sums[n] = _mm256_fmadd_ps(key, decayed, sums[n]);
        }
    }
    __m256 update[kRegisters];
    const __m256 beta = _mm256_set1_ps(step.beta);
    for (std::size_t n = 0; n < kRegisters; ++n) {
        update[n] = _mm256_mul_ps(beta, _mm256_sub_ps(load(step.value + first + n * kWidth), sums[n]));
        sums[n] = _mm256_setzero_ps();
    }
    for (std::size_t d = 0; d < step.dim; ++d) {
        float* const row = step.state + d * step.dim + first;
        const __m256 key = _mm256_broadcast_ss(step.key + d);
        const __m256 query = _mm256_broadcast_ss(step.query + d);
        for (std::size_t n = 0; n < kRegisters; ++n) {
            const __m256 updated = _mm256_fmadd_ps(key, update[n], load(row + n * kWidth));
            store(row + n * kWidth, updated);
            sums[n] = _mm256_fmadd_ps(query, updated, sums[n]);
        }
    }
#pragma GCC unroll 8
    for (std::size_t n = 0; n < kRegisters; ++n)
        store(step.output + first + n * kWidth, sums[n]);
}

void kdaStep(const KernelTable::KdaStep& step)
{
    const __m256i none = _mm256_setzero_si256();
    std::size_t first = 0;
    for (; first + 4 * kWidth <= step.dim; first += 4 * kWidth)
        kdaStrip<4, false>(step, first, none);
    for (; first + kWidth <= step.dim; first += kWidth)
        kdaStrip<1, false>(step, first, none);
    if (first < step.dim)
        kdaStrip<1, true>(step, first, maskOf(step.dim - first));
}

} // namespace

const KernelTable& avx2Table()
{
    static constexpr KernelTable table = {
        .name = "avx2",
        .dot = dot,
        .addScaled = addScaled,
        .multiplyRows = avx2::multiplyRows,
        .multiplyVqRows = avx2::multiplyVqRows,
        .exactTables = kNoTables,
        .unpackRow = avx2::unpackRow,
        .unpackVqRows = avx2::unpackVqRows,
        .multiplyTokens = multiplyTokens,
        .addProduct = addProduct,
        .packPanel = avx2::packPanel,
        .multiplyPanel = avx2::multiplyPanel,
        .expOfDifference = expOfDifference,
        .expAndSum = expAndSum,
        .multiplySigmoid = multiplySigmoid,
        .silu = silu,
        .situ = situ,
        .siluInPlace = siluInPlace,
        .logDecay = logDecay,
        .geluTanh = geluTanh,
        .kdaStep = kdaStep,
        .splitPlanes = avx2::splitPlanes,
        .multiplyPlanes = avx2::multiplyPlanes,
        .reducedTables = {packedTableBytes, avx2::buildTables, avx2::multiplyTables},
        .splitWords = avx2::splitWords,
        .unpackVqWords = avx2::unpackVqWords,
        .addWordProduct = avx2::addWordProduct,
        .nearestEntries = avx2::nearestEntries,
        .searchCodes = avx2::searchCodes,
    };
    return table;
}

} // namespace waste::kernels
#endif
