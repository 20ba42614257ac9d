#if defined(__x86_64__)

#include "kernels/x86_avx512_planes.h"
#include "kernels/x86_avx512_words.h"

// Products of integers in pairs that are multiplied first and added then.

namespace waste::kernels {

namespace {

struct WordMultiply {
    static __m512i addPairs(__m512i sum, __m512i a, __m512i b)
    {
        return _mm512_add_epi32(sum, _mm512_madd_epi16(a, b));
    }

    // 2·2·15·127 fits 16 bits.
    static __m512i planes(__m512i even, __m512i odd, const PlaneBytes& x)
    {
        const auto products = [&](const std::int8_t* plane) {
            return _mm512_add_epi16(_mm512_maddubs_epi16(even, loadBytes(plane)),
                _mm512_maddubs_epi16(odd, loadBytes(plane + kPlaneGroup / 2)));
        };
        return _mm512_add_epi32(_mm512_madd_epi16(products(x.high), _mm512_set1_epi16(128)),
            _mm512_madd_epi16(products(x.low), _mm512_set1_epi16(1)));
    }
};

} // namespace

namespace avx512 {

void multiplyPlanes(const MatrixView& matrix, const PlaneInput& input, float* y, std::size_t yStride,
    std::uint32_t begin, std::uint32_t end)
{
    multiplyPlanesWith<WordMultiply>(matrix, input, y, yStride, begin, end);
}

void addWordProduct(const KernelTable::WordProduct& product)
{
    addWordProductWith<WordMultiply>(product);
}

} // namespace avx512
} // namespace waste::kernels
#endif
