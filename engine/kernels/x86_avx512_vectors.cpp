#if defined(__x86_64__)

#include "kernels/x86_avx512.h"

// Loops over vectors of f32 and over the state of delta attention. Ends are read through masks, as zeros.

namespace waste::kernels {

namespace {

// A column of S depends on its own entries only, so a strip of columns takes both passes at once. What decay leaves of
// an entry is computed in each of them: storing it in the first one costs a third of the speed.
template<std::size_t kRegisters>
void kdaStrip(const KernelTable::KdaStep& step, std::size_t first, __mmask16 mask)
{
    const auto load = [mask](const float* p) { return _mm512_maskz_loadu_ps(mask, p); };
    __m512 sums[kRegisters] = {};
    for (std::size_t d = 0; d < step.dim; ++d) {
        const float* const row = step.state + d * step.dim + first;
        const __m512 decay = _mm512_set1_ps(step.decay[d]);
        const __m512 key = _mm512_set1_ps(step.key[d]);
        for (std::size_t n = 0; n < kRegisters; ++n)
            sums[n] = _mm512_fmadd_ps(key, _mm512_mul_ps(load(row + n * kFloats), decay), sums[n]);
    }
    __m512 update[kRegisters];
    const __m512 beta = _mm512_set1_ps(step.beta);
#pragma GCC unroll 8
    for (std::size_t n = 0; n < kRegisters; ++n) {
        update[n] = _mm512_mul_ps(beta, _mm512_sub_ps(load(step.value + first + n * kFloats), sums[n]));
        sums[n] = _mm512_setzero_ps();
    }
    for (std::size_t d = 0; d < step.dim; ++d) {
        float* const row = step.state + d * step.dim + first;
        const __m512 decay = _mm512_set1_ps(step.decay[d]);
        const __m512 key = _mm512_set1_ps(step.key[d]);
        const __m512 query = _mm512_set1_ps(step.query[d]);
        for (std::size_t n = 0; n < kRegisters; ++n) {
            const __m512 decayed = _mm512_mul_ps(load(row + n * kFloats), decay);
            const __m512 updated = _mm512_fmadd_ps(key, update[n], decayed);
            _mm512_mask_storeu_ps(row + n * kFloats, mask, updated);
            sums[n] = _mm512_fmadd_ps(query, updated, sums[n]);
        }
    }
#pragma GCC unroll 8
    for (std::size_t n = 0; n < kRegisters; ++n)
        _mm512_mask_storeu_ps(step.output + first + n * kFloats, mask, sums[n]);
}

} // namespace

namespace avx512 {

// Four independent sums, as a multiply-add waits four steps for the one before it.
float dot(const float* x, const float* w, std::size_t count)
{
    constexpr std::size_t kSums = 4;
    __m512 sums[kSums] = {};
    std::size_t i = 0;
    for (; i + kSums * kFloats <= count; i += kSums * kFloats) {
#pragma GCC unroll 4
        for (std::size_t n = 0; n < kSums; ++n) {
            const std::size_t at = i + n * kFloats;
            sums[n] = _mm512_fmadd_ps(_mm512_loadu_ps(x + at), _mm512_loadu_ps(w + at), sums[n]);
        }
    }
    for (; i < count; i += kFloats) {
        const __mmask16 mask = firstLanes(count - i < kFloats ? count - i : kFloats);
        sums[0] = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(mask, x + i), _mm512_maskz_loadu_ps(mask, w + i), sums[0]);
    }
    return _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(sums[0], sums[1]), _mm512_add_ps(sums[2], sums[3])));
}

void addScaled(float a, const float* x, float* y, std::size_t count)
{
    const __m512 factor = _mm512_set1_ps(a);
    std::size_t i = 0;
    for (; i + kFloats <= count; i += kFloats)
        _mm512_storeu_ps(y + i, _mm512_fmadd_ps(factor, _mm512_loadu_ps(x + i), _mm512_loadu_ps(y + i)));
    if (i < count) {
        const __mmask16 mask = firstLanes(count - i);
        const __m512 before = _mm512_maskz_loadu_ps(mask, y + i);
        _mm512_mask_storeu_ps(y + i, mask, _mm512_fmadd_ps(factor, _mm512_maskz_loadu_ps(mask, x + i), before));
    }
}

// A strip is as wide as a head of 128, whose state is then read as one stream: half as fast again as
// in four strips.
void kdaStep(const KernelTable::KdaStep& step)
{
    constexpr std::size_t kStrip = 8;
    std::size_t first = 0;
    for (; first + kStrip * kFloats <= step.dim; first += kStrip * kFloats)
        kdaStrip<kStrip>(step, first, 0xFFFF);
    for (; first < step.dim; first += kFloats)
        kdaStrip<1>(step, first, firstLanes(step.dim - first < kFloats ? step.dim - first : kFloats));
}

} // namespace avx512
} // namespace waste::kernels
#endif
