#if defined(__x86_64__)

#include "kernels/x86_avx2_planes.h"
#include "kernels/x86_avx2_words.h"

// Products of integers in pairs that are multiplied first and added then.

namespace waste::kernels {

namespace {

struct WordMultiply {
    static __m256i addPairs(__m256i sum, __m256i a, __m256i b)
    {
        return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
    }

    // Products with the even and the odd columns of a plane; four of 2·15·127 fit 16 bits.
    static __m256i addBytes(__m256i sum, __m256i even, __m256i odd, const std::int8_t* plane)
    {
        return _mm256_add_epi16(sum,
            _mm256_add_epi16(_mm256_maddubs_epi16(even, loadRegister(plane)),
                _mm256_maddubs_epi16(odd, loadRegister(plane + kPlaneGroup / 2))));
    }

    static __m256i joinPlanes(__m256i high, __m256i low)
    {
        return _mm256_add_epi32(
            _mm256_madd_epi16(high, _mm256_set1_epi16(128)), _mm256_madd_epi16(low, _mm256_set1_epi16(1)));
    }
};

} // namespace

namespace avx2 {

void multiplyPlanes(const MatrixView& matrix, const PlaneInput& input, float* y, std::size_t yStride,
    std::uint32_t begin, std::uint32_t end)
{
    multiplyPlanesWith<WordMultiply>(matrix, input, y, yStride, begin, end);
}

void addWordProduct(const KernelTable::WordProduct& product)
{
    addWordProductWith<WordMultiply>(product);
}

} // namespace avx2
} // namespace waste::kernels
#endif
