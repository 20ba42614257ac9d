#if defined(__x86_64__)

#include "kernels/x86_avx2_planes.h"
#include "kernels/x86_avx2_words.h"

// Products of integers that VNNI adds in the instruction that multiplies. It does not saturate, and 32 bits are enough.

namespace waste::kernels {

namespace {

struct DotMultiply {
    static __m256i addPairs(__m256i sum, __m256i a, __m256i b) { return _mm256_dpwssd_avx_epi32(sum, a, b); }

    static __m256i addBytes(__m256i sum, __m256i even, __m256i odd, const std::int8_t* plane)
    {
        sum = _mm256_dpbusd_avx_epi32(sum, even, loadRegister(plane));
        return _mm256_dpbusd_avx_epi32(sum, odd, loadRegister(plane + kPlaneGroup / 2));
    }

    static __m256i joinPlanes(__m256i high, __m256i low) { return _mm256_add_epi32(_mm256_slli_epi32(high, 7), low); }
};

} // namespace

namespace avxvnni {

void multiplyPlanes(const MatrixView& matrix, const PlaneInput& input, float* y, std::size_t yStride,
    std::uint32_t begin, std::uint32_t end)
{
    multiplyPlanesWith<DotMultiply>(matrix, input, y, yStride, begin, end);
}

void addWordProduct(const KernelTable::WordProduct& product)
{
    addWordProductWith<DotMultiply>(product);
}

} // namespace avxvnni
} // namespace waste::kernels
#endif
