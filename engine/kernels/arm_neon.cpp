#if defined(__aarch64__)

#include "kernels/arm_neon.h"

// Loops over f32 for NEON. Each output element has a fixed structure of lanes, whatever else is computed beside it.

namespace waste::kernels {

namespace {

// ---- vector math: e^x, σ and tanh within 2 units in the last place

// e^x = 2^n · e^r with |r| ≤ ln2 / 2; the polynomial is the Taylor series, whose rest is below 2^-26 there.
float32x4_t exp4(float32x4_t x)
{
    // Below −104 the result is 0, above 89 infinite. Both instructions let a NaN through.
    x = vminq_f32(vmaxq_f32(x, vdupq_n_f32(-104.0F)), vdupq_n_f32(89.0F));
    const float32x4_t n = vrndnq_f32(vmulq_f32(x, vdupq_n_f32(1.44269504F)));
    // ln2 in two parts, the first with zeros at its end, so that n times it is exact.
    float32x4_t r = vfmsq_f32(x, n, vdupq_n_f32(0.693359375F));
    r = vfmsq_f32(r, n, vdupq_n_f32(-2.12194440e-4F));
    float32x4_t p = vdupq_n_f32(1.0F / 5040);
    p = vfmaq_f32(vdupq_n_f32(1.0F / 720), p, r);
    p = vfmaq_f32(vdupq_n_f32(1.0F / 120), p, r);
    p = vfmaq_f32(vdupq_n_f32(1.0F / 24), p, r);
    p = vfmaq_f32(vdupq_n_f32(1.0F / 6), p, r);
    p = vfmaq_f32(vdupq_n_f32(0.5F), p, r);
    p = vfmaq_f32(r, vmulq_f32(p, r), r);
    p = vaddq_f32(p, vdupq_n_f32(1.0F));
    // 2^n in two steps: n reaches from −150 to 128, outside of what one exponent field holds.
    const int32x4_t whole = vcvtq_s32_f32(n);
    const int32x4_t half = vshrq_n_s32(whole, 1);
    const int32x4_t bias = vdupq_n_s32(127);
    const int32x4_t first = vshlq_n_s32(vaddq_s32(half, bias), 23);
    const int32x4_t second = vshlq_n_s32(vaddq_s32(vsubq_s32(whole, half), bias), 23);
    return vmulq_f32(vmulq_f32(p, vreinterpretq_f32_s32(first)), vreinterpretq_f32_s32(second));
}

float32x4_t sigmoid4(float32x4_t x)
{
    const float32x4_t one = vdupq_n_f32(1.0F);
    return vdivq_f32(one, vaddq_f32(one, exp4(vnegq_f32(x))));
}

// An odd polynomial near 0, where 1 − 2/(e^2x + 1) would cancel.
float32x4_t tanh4(float32x4_t x)
{
    const float32x4_t magnitude = vabsq_f32(x);
    const float32x4_t square = vmulq_f32(x, x);
    float32x4_t p = vdupq_n_f32(-5.70498872745e-3F);
    p = vfmaq_f32(vdupq_n_f32(2.06390887954e-2F), p, square);
    p = vfmaq_f32(vdupq_n_f32(-5.37397155531e-2F), p, square);
    p = vfmaq_f32(vdupq_n_f32(1.33314422036e-1F), p, square);
    p = vfmaq_f32(vdupq_n_f32(-3.33332819422e-1F), p, square);
    const float32x4_t nearZero = vfmaq_f32(x, vmulq_f32(p, square), x);
    const float32x4_t one = vdupq_n_f32(1.0F);
    const float32x4_t growth = vaddq_f32(exp4(vaddq_f32(magnitude, magnitude)), one);
    const uint32x4_t signBit = vdupq_n_u32(0x80000000U);
    const float32x4_t far = vbslq_f32(signBit, x, vsubq_f32(one, vdivq_f32(vdupq_n_f32(2.0F), growth)));
    return vbslq_f32(vcltq_f32(magnitude, vdupq_n_f32(0.625F)), nearZero, far);
}

// ln w for 1 ≤ w ≤ 2, by a polynomial in w − 1 or w/2 − 1, whichever is smaller.
float32x4_t logOneToTwo4(float32x4_t w)
{
    const float32x4_t one = vdupq_n_f32(1.0F);
    const uint32x4_t isUpper = vcgtq_f32(w, vdupq_n_f32(1.41421356F));
    const float32x4_t exponent = vbslq_f32(isUpper, one, vdupq_n_f32(0));
    const float32x4_t x = vsubq_f32(vbslq_f32(isUpper, vmulq_n_f32(w, 0.5F), w), one);
    const float32x4_t square = vmulq_f32(x, x);
    float32x4_t p = vdupq_n_f32(7.0376836292e-2F);
    constexpr float kCoefficients[] = {-1.1514610310e-1F, 1.1676998740e-1F, -1.2420140846e-1F, 1.4249322787e-1F,
        -1.6668057665e-1F, 2.0000714765e-1F, -2.4999993993e-1F, 3.3333331174e-1F};
    for (const float coefficient : kCoefficients)
        p = vfmaq_f32(vdupq_n_f32(coefficient), p, x);
    float32x4_t sum = vmulq_f32(vmulq_f32(p, x), square);
    sum = vfmaq_n_f32(sum, exponent, -2.12194440e-4F);
    sum = vfmaq_n_f32(sum, square, -0.5F);
    return vfmaq_n_f32(vaddq_f32(x, sum), exponent, 0.693359375F);
}

// ln(1 + e^z) = max(z, 0) + ln(1 + u) with u = e^−|z|. 1 + u loses digits of u, but by the same factor in ln(1 + u) as
// in (1 + u) − 1.
float32x4_t softplus4(float32x4_t z)
{
    const float32x4_t one = vdupq_n_f32(1.0F);
    const float32x4_t u = exp4(vnegq_f32(vabsq_f32(z)));
    const float32x4_t w = vaddq_f32(one, u);
    const float32x4_t rounded = vsubq_f32(w, one);
    const float32x4_t log1p = vmulq_f32(logOneToTwo4(w), vdivq_f32(u, rounded));
    return vaddq_f32(vmaxq_f32(z, vdupq_n_f32(0)), vbslq_f32(vceqzq_f32(rounded), u, log1p));
}

// y[i] ← f(y[i], x[i]), four at a time.
template<typename Function>
void transform(const float* x, float* y, std::size_t count, Function function)
{
    std::size_t i = 0;
    for (; i + kWidth <= count; i += kWidth)
        vst1q_f32(y + i, function(vld1q_f32(y + i), vld1q_f32(x + i)));
    const std::size_t rest = count - i;
    if (rest > 0)
        storeFirst(y + i, function(loadFirst(y + i, rest), loadFirst(x + i, rest)), rest);
}

void multiplySigmoid(const float* t, float* y, std::size_t count)
{
    transform(t, y, count, [](float32x4_t value, float32x4_t gate) { return vmulq_f32(value, sigmoid4(gate)); });
}

void siluInPlace(float* x, std::size_t count)
{
    transform(x, x, count, [](float32x4_t value, float32x4_t) { return vmulq_f32(value, sigmoid4(value)); });
}

void geluTanh(float* x, std::size_t count)
{
    const float32x4_t one = vdupq_n_f32(1.0F);
    transform(x, x, count, [=](float32x4_t u, float32x4_t) {
        const float32x4_t cube = vmulq_f32(vmulq_f32(vmulq_n_f32(u, 0.044715F), u), u);
        const float32x4_t curve = tanh4(vmulq_n_f32(vaddq_f32(u, cube), 0.7978845608028654F)); // √(2/π)
        return vmulq_f32(vmulq_n_f32(u, 0.5F), vaddq_f32(one, curve));
    });
}

void silu(float* gate, const float* up, std::size_t count)
{
    transform(up, gate, count, [](float32x4_t g, float32x4_t u) { return vmulq_f32(vmulq_f32(g, sigmoid4(g)), u); });
}

void situ(KernelTable::Situ parameters, float* gate, const float* up, std::size_t count)
{
    const float32x4_t beta = vdupq_n_f32(parameters.beta);
    const float32x4_t linearBeta = vdupq_n_f32(parameters.linearBeta);
    const bool squashUp = parameters.linearBeta != 0;
    transform(up, gate, count, [=](float32x4_t g, float32x4_t u) {
        if (squashUp)
            u = vmulq_f32(linearBeta, tanh4(vdivq_f32(u, linearBeta)));
        const float32x4_t squashed = vmulq_f32(beta, tanh4(vdivq_f32(g, beta)));
        return vmulq_f32(vmulq_f32(squashed, sigmoid4(g)), u);
    });
}

void logDecay(KernelTable::LogDecay parameters, const float* z, float* g, std::size_t count)
{
    if (parameters.lowerBound < 0)
        transform(z, g, count, [=](float32x4_t, float32x4_t x) {
            return vmulq_n_f32(sigmoid4(vmulq_n_f32(x, parameters.rate)), parameters.lowerBound);
        });
    else
        transform(z, g, count, [=](float32x4_t, float32x4_t x) { return vmulq_n_f32(softplus4(x), -parameters.rate); });
}

float expAndSum(float* x, float maximum, std::size_t count)
{
    const float32x4_t shift = vdupq_n_f32(maximum);
    float32x4_t sum = vdupq_n_f32(0);
    std::size_t i = 0;
    for (; i + kWidth <= count; i += kWidth) {
        const float32x4_t value = exp4(vsubq_f32(vld1q_f32(x + i), shift));
        vst1q_f32(x + i, value);
        sum = vaddq_f32(sum, value);
    }
    const std::size_t rest = count - i;
    if (rest > 0) {
        storeFirst(x + i, exp4(vsubq_f32(loadFirst(x + i, rest), shift)), rest);
        sum = vaddq_f32(sum, loadFirst(x + i, rest));
    }
    return sumLanes(sum);
}

void expOfDifference(const double* later, const double* earlier, float* values, std::size_t count)
{
    const auto difference = [&](std::size_t i) { return vsubq_f64(vld1q_f64(later + i), vld1q_f64(earlier + i)); };
    std::size_t i = 0;
    for (; i + kWidth <= count; i += kWidth)
        vst1q_f32(values + i, exp4(vcvt_high_f32_f64(vcvt_f32_f64(difference(i)), difference(i + 2))));
    const std::size_t rest = count - i;
    if (rest > 0) {
        float narrowed[kWidth] = {};
        for (std::size_t k = 0; k < rest; ++k)
            narrowed[k] = static_cast<float>(later[i + k] - earlier[i + k]);
        storeFirst(values + i, exp4(vld1q_f32(narrowed)), rest);
    }
}

// ---- f32 loops

// Four independent sums: cores have up to four units whose multiply-adds take four cycles.
float dot(const float* x, const float* w, std::size_t count)
{
    constexpr std::size_t kSums = 4;
    float32x4_t sums[kSums] = {};
    std::size_t i = 0;
    for (; i + kSums * kWidth <= count; i += kSums * kWidth) {
        for (std::size_t n = 0; n < kSums; ++n)
            sums[n] = vfmaq_f32(sums[n], vld1q_f32(x + i + n * kWidth), vld1q_f32(w + i + n * kWidth));
    }
    for (; i < count; i += kWidth) {
        const std::size_t rest = smaller(count - i, kWidth);
        sums[0] = vfmaq_f32(sums[0], loadFirst(x + i, rest), loadFirst(w + i, rest));
    }
    return sumLanes(vaddq_f32(vaddq_f32(sums[0], sums[1]), vaddq_f32(sums[2], sums[3])));
}

void addScaled(float a, const float* x, float* y, std::size_t count)
{
    transform(x, y, count, [a](float32x4_t value, float32x4_t term) { return vfmaq_n_f32(value, term, a); });
}

// kRows rows times kTokens vectors; every weight that is loaded serves all the vectors, and the reverse.
template<std::size_t kRows, std::size_t kTokens>
void multiplyBlock(const KernelTable::RowsTimesTokens& product, std::size_t row, std::size_t token)
{
    const float* const w = product.w + row * product.wStride;
    const float* const x = product.x + token * product.xStride;
    float32x4_t sums[kRows][kTokens] = {};
    const auto step = [&](auto load, std::size_t column) {
        float32x4_t inputs[kTokens];
        for (std::size_t t = 0; t < kTokens; ++t)
            inputs[t] = load(x + t * product.xStride + column);
        for (std::size_t r = 0; r < kRows; ++r) {
            const float32x4_t weights = load(w + r * product.wStride + column);
            for (std::size_t t = 0; t < kTokens; ++t)
                sums[r][t] = vfmaq_f32(sums[r][t], weights, inputs[t]);
        }
    };
    std::size_t column = 0;
    for (; column + kWidth <= product.columns; column += kWidth)
        step([](const float* p) { return vld1q_f32(p); }, column);
    const std::size_t rest = product.columns - column;
    if (rest > 0)
        step([rest](const float* p) { return loadFirst(p, rest); }, column);
    for (std::size_t t = 0; t < kTokens; ++t) {
        float* const y = product.y + (token + t) * product.yStride + row;
        for (std::size_t r = 0; r < kRows; ++r)
            y[r] = product.accumulate ? y[r] + sumLanes(sums[r][t]) : sumLanes(sums[r][t]);
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

void multiplyTokens(const KernelTable::RowsTimesTokens& product)
{
    std::size_t row = 0;
    for (; row + 4 <= product.rows; row += 4)
        multiplyRowBlock<4>(product, row);
    for (; row < product.rows; ++row)
        multiplyRowBlock<1>(product, row);
}

// kRows × (4·kRegisters) elements of c, of which the last register has `count` (1..4).
template<std::size_t kRows, std::size_t kRegisters, bool kPartial>
void addBlock(const KernelTable::AddedProduct& product, std::size_t row, std::size_t column, std::size_t count)
{
    const auto load = [&](const float* p) { return kPartial ? loadFirst(p, count) : vld1q_f32(p); };
    float32x4_t sums[kRows][kRegisters] = {};
    for (std::size_t k = 0; k < product.depth; ++k) {
        float32x4_t b[kRegisters];
        for (std::size_t n = 0; n < kRegisters; ++n)
            b[n] = load(product.b + k * product.bStride + column + n * kWidth);
        for (std::size_t r = 0; r < kRows; ++r) {
            const float32x4_t a = vld1q_dup_f32(product.a + (row + r) * product.aRowStride + k * product.aDepthStride);
            for (std::size_t n = 0; n < kRegisters; ++n)
                sums[r][n] = vfmaq_f32(sums[r][n], a, b[n]);
        }
    }
    for (std::size_t r = 0; r < kRows; ++r) {
        for (std::size_t n = 0; n < kRegisters; ++n) {
            float* const c = product.c + (row + r) * product.cStride + column + n * kWidth;
            const float32x4_t value = vaddq_f32(load(c), sums[r][n]);
            if (kPartial)
                storeFirst(c, value, count);
            else
                vst1q_f32(c, value);
        }
    }
}

template<std::size_t kRows>
void addRowBlock(const KernelTable::AddedProduct& product, std::size_t row)
{
    std::size_t column = 0;
    for (; column + 4 * kWidth <= product.columns; column += 4 * kWidth)
        addBlock<kRows, 4, false>(product, row, column, kWidth);
    for (; column + kWidth <= product.columns; column += kWidth)
        addBlock<kRows, 1, false>(product, row, column, kWidth);
    if (column < product.columns)
        addBlock<kRows, 1, true>(product, row, column, product.columns - column);
}

// Six rows of four registers leave eight of the 32 registers for what is multiplied.
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
// in the first-level cache between them. The last register has `count` columns.
template<std::size_t kRegisters, bool kPartial>
void kdaStrip(const KernelTable::KdaStep& step, std::size_t first, std::size_t count)
{
    const auto load = [&](const float* p) { return kPartial ? loadFirst(p, count) : vld1q_f32(p); };
    const auto store = [&](float* p, float32x4_t value) {
        if (kPartial)
            storeFirst(p, value, count);
        else
            vst1q_f32(p, value);
    };
    float32x4_t sums[kRegisters] = {};
    for (std::size_t d = 0; d < step.dim; ++d) {
        float* const row = step.state + d * step.dim + first;
        const float32x4_t decay = vld1q_dup_f32(step.decay + d);
        const float32x4_t key = vld1q_dup_f32(step.key + d);
        for (std::size_t n = 0; n < kRegisters; ++n) {
            const float32x4_t decayed = vmulq_f32(load(row + n * kWidth), decay);
            store(row + n * kWidth, decayed);
            sums[n] = vfmaq_f32(sums[n], key, decayed);
        }
    }
    float32x4_t update[kRegisters];
    for (std::size_t n = 0; n < kRegisters; ++n) {
        update[n] = vmulq_n_f32(vsubq_f32(load(step.value + first + n * kWidth), sums[n]), step.beta);
        sums[n] = vdupq_n_f32(0);
    }
    for (std::size_t d = 0; d < step.dim; ++d) {
        float* const row = step.state + d * step.dim + first;
        const float32x4_t key = vld1q_dup_f32(step.key + d);
        const float32x4_t query = vld1q_dup_f32(step.query + d);
        for (std::size_t n = 0; n < kRegisters; ++n) {
            const float32x4_t updated = vfmaq_f32(load(row + n * kWidth), key, update[n]);
            store(row + n * kWidth, updated);
            sums[n] = vfmaq_f32(sums[n], query, updated);
        }
    }
    for (std::size_t n = 0; n < kRegisters; ++n)
        store(step.output + first + n * kWidth, sums[n]);
}

void kdaStep(const KernelTable::KdaStep& step)
{
    std::size_t first = 0;
    for (; first + 8 * kWidth <= step.dim; first += 8 * kWidth)
        kdaStrip<8, false>(step, first, kWidth);
    for (; first + kWidth <= step.dim; first += kWidth)
        kdaStrip<1, false>(step, first, kWidth);
    if (first < step.dim)
        kdaStrip<1, true>(step, first, step.dim - first);
}

// All tables of this architecture, which differ in one kernel.
constexpr KernelTable tableWith(const char* name, decltype(KernelTable::multiplyPlanes) multiplyPlanes)
{
    return {
        .name = name,
        .dot = dot,
        .addScaled = addScaled,
        .multiplyRows = neon::multiplyRows,
        .multiplyVqRows = neon::multiplyVqRows,
        .exactTables = kNoTables,
        .unpackRow = neon::unpackRow,
        .unpackVqRows = neon::unpackVqRows,
        .multiplyTokens = multiplyTokens,
        .addProduct = addProduct,
        .packPanel = neon::packPanel,
        .multiplyPanel = neon::multiplyPanel,
        .expOfDifference = expOfDifference,
        .expAndSum = expAndSum,
        .multiplySigmoid = multiplySigmoid,
        .silu = silu,
        .situ = situ,
        .siluInPlace = siluInPlace,
        .logDecay = logDecay,
        .geluTanh = geluTanh,
        .kdaStep = kdaStep,
        .splitPlanes = neon::splitPlanes,
        .multiplyPlanes = multiplyPlanes,
        .reducedTables = {packedTableBytes, neon::buildTables, neon::multiplyTables},
        .splitWords = neon::splitWords,
        .unpackVqWords = neon::unpackVqWords,
        .addWordProduct = neon::addWordProduct,
        .nearestEntries = neon::nearestEntries,
        .searchCodes = neon::searchCodes,
    };
}

} // namespace

const KernelTable& neonTable()
{
    static constexpr KernelTable table = tableWith("neon", neon::multiplyPlanes);
    return table;
}

const KernelTable& neonDotprodTable()
{
    static constexpr KernelTable table = tableWith("neon-dotprod", neon_dotprod::multiplyPlanes);
    return table;
}

} // namespace waste::kernels
#endif
