#if defined(__x86_64__)

#include "kernels/x86_avx512.h"

// Functions of single values where twice the lanes of AVX2 are worth it. The formulas are those of x86_avx2.cpp.

namespace waste::kernels {

namespace {

constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

// e^x = 2^n · e^r with |r| ≤ ln2 / 2; the polynomial is the Taylor series, whose rest is below 2^-26 there.
__m512 exp16(__m512 x)
{
    // Below −104 the result is 0, above 89 infinite. The order of operands lets a NaN through.
    x = _mm512_max_ps(_mm512_set1_ps(-104.0F), x);
    x = _mm512_min_ps(_mm512_set1_ps(89.0F), x);
    const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504F)), kNearest);
    // ln2 in two parts, the first with zeros at its end, so that n times it is exact.
    __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375F), x);
    r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4F), r);
    __m512 p = _mm512_set1_ps(1.0F / 5040);
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0F / 720));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0F / 120));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0F / 24));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0F / 6));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.5F));
    p = _mm512_fmadd_ps(_mm512_mul_ps(p, r), r, r);
    p = _mm512_add_ps(p, _mm512_set1_ps(1.0F));
    return _mm512_scalef_ps(p, n);
}

__m512 sigmoid16(__m512 x)
{
    const __m512 one = _mm512_set1_ps(1.0F);
    return _mm512_div_ps(one, _mm512_add_ps(one, exp16(_mm512_sub_ps(_mm512_setzero_ps(), x))));
}

// An odd polynomial near 0, where 1 − 2/(e^2x + 1) would cancel.
__m512 tanh16(__m512 x)
{
    const __m512 magnitude = _mm512_abs_ps(x);
    const __m512 square = _mm512_mul_ps(x, x);
    __m512 p = _mm512_set1_ps(-5.70498872745e-3F);
    p = _mm512_fmadd_ps(p, square, _mm512_set1_ps(2.06390887954e-2F));
    p = _mm512_fmadd_ps(p, square, _mm512_set1_ps(-5.37397155531e-2F));
    p = _mm512_fmadd_ps(p, square, _mm512_set1_ps(1.33314422036e-1F));
    p = _mm512_fmadd_ps(p, square, _mm512_set1_ps(-3.33332819422e-1F));
    const __m512 nearZero = _mm512_fmadd_ps(_mm512_mul_ps(p, square), x, x);
    const __m512 one = _mm512_set1_ps(1.0F);
    const __m512 growth = _mm512_add_ps(exp16(_mm512_add_ps(magnitude, magnitude)), one);
    const __m512 far = _mm512_sub_ps(one, _mm512_div_ps(_mm512_set1_ps(2.0F), growth));
    const __m512 sign = _mm512_and_ps(x, _mm512_set1_ps(-0.0F));
    const __mmask16 isNear = _mm512_cmp_ps_mask(magnitude, _mm512_set1_ps(0.625F), _CMP_LT_OQ);
    return _mm512_mask_blend_ps(isNear, _mm512_or_ps(far, sign), nearZero);
}

} // namespace

namespace avx512 {

float expAndSum(float* x, float maximum, std::size_t count)
{
    const __m512 shift = _mm512_set1_ps(maximum);
    __m512 sum = _mm512_setzero_ps();
    std::size_t i = 0;
    for (; i + kFloats <= count; i += kFloats) {
        const __m512 value = exp16(_mm512_sub_ps(_mm512_loadu_ps(x + i), shift));
        _mm512_storeu_ps(x + i, value);
        sum = _mm512_add_ps(sum, value);
    }
    if (i < count) {
        const __mmask16 mask = firstLanes(count - i);
        const __m512 value = exp16(_mm512_sub_ps(_mm512_maskz_loadu_ps(mask, x + i), shift));
        _mm512_mask_storeu_ps(x + i, mask, value);
        sum = _mm512_mask_add_ps(sum, mask, sum, value);
    }
    return _mm512_reduce_add_ps(sum);
}

void expOfDifference(const double* later, const double* earlier, float* values, std::size_t count)
{
    const auto difference = [&](__mmask8 lanes, std::size_t i) {
        return _mm512_cvtpd_ps(
            _mm512_sub_pd(_mm512_maskz_loadu_pd(lanes, later + i), _mm512_maskz_loadu_pd(lanes, earlier + i)));
    };
    for (std::size_t i = 0; i < count; i += kFloats) {
        const __mmask16 mask = firstLanes(count - i < kFloats ? count - i : kFloats);
        const __m256 first = difference(static_cast<__mmask8>(mask), i);
        const __m256 second = difference(static_cast<__mmask8>(mask >> 8), i + kFloats / 2);
        const __m512 both = _mm512_insertf32x8(_mm512_castps256_ps512(first), second, 1);
        _mm512_mask_storeu_ps(values + i, mask, exp16(both));
    }
}

void situ(KernelTable::Situ parameters, float* gate, const float* up, std::size_t count)
{
    const __m512 beta = _mm512_set1_ps(parameters.beta);
    const __m512 linearBeta = _mm512_set1_ps(parameters.linearBeta);
    const bool squashUp = parameters.linearBeta != 0;
    for (std::size_t i = 0; i < count; i += kFloats) {
        const __mmask16 mask = firstLanes(count - i < kFloats ? count - i : kFloats);
        const __m512 g = _mm512_maskz_loadu_ps(mask, gate + i);
        __m512 u = _mm512_maskz_loadu_ps(mask, up + i);
        if (squashUp)
            u = _mm512_mul_ps(linearBeta, tanh16(_mm512_div_ps(u, linearBeta)));
        const __m512 squashed = _mm512_mul_ps(beta, tanh16(_mm512_div_ps(g, beta)));
        _mm512_mask_storeu_ps(gate + i, mask, _mm512_mul_ps(_mm512_mul_ps(squashed, sigmoid16(g)), u));
    }
}

} // namespace avx512
} // namespace waste::kernels
#endif
