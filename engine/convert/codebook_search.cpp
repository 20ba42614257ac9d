#include "convert/codebook_search.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>

namespace waste {
namespace {

using kernels::kCodeLanes;

float dot(const float* a, const float* b)
{
    float sum = 0;
    for (std::size_t d = 0; d < kVectorDim; ++d)
        sum += a[d] * b[d];
    return sum;
}

// The largest norm of a codebook's entries.
float largestNorm(std::span<const float> codebook)
{
    float largest = 0;
    for (std::size_t i = 0; i < codebook.size(); i += kVectorDim)
        largest = std::max(largest, dot(&codebook[i], &codebook[i]));
    return std::sqrt(largest);
}

std::vector<std::int16_t> productsOf(std::span<const float> earlier, std::span<const float> later, float scale)
{
    const std::size_t laterCount = later.size() / kVectorDim;
    std::vector<std::int16_t> products(earlier.size() / kVectorDim * laterCount);
    for (std::size_t i = 0; i < earlier.size() / kVectorDim; ++i) {
        for (std::size_t j = 0; j < laterCount; ++j) {
            const float units = std::nearbyint(dot(&earlier[i * kVectorDim], &later[j * kVectorDim]) * scale);
            products[i * laterCount + kernels::productPlace(j)] =
                static_cast<std::int16_t>(std::clamp(units, float{INT16_MIN}, float{INT16_MAX}));
        }
    }
    return products;
}

} // namespace

CodebookSearch::CodebookSearch(const kernels::KernelTable& kernels, std::span<const float> codebook)
    : m_kernels(&kernels)
    , m_columns(codebook.size())
    , m_halfNorms(codebook.size() / kVectorDim)
{
    assert(m_halfNorms.size() == 64 || m_halfNorms.size() == 256);
    for (std::size_t e = 0; e < m_halfNorms.size(); ++e) {
        const float* const entry = &codebook[e * kVectorDim];
        for (std::size_t d = 0; d < kVectorDim; ++d)
            m_columns[(e / kCodeLanes * kVectorDim + d) * kCodeLanes + e % kCodeLanes] = entry[d];
        m_halfNorms[e] = dot(entry, entry) / 2;
    }
}

CodeSearch::CodeSearch(const kernels::KernelTable& kernels, std::size_t stages, std::span<const float> codebooks)
    : m_kernels(&kernels)
{
    assert(stages >= 2 && stages <= kernels::kCodeStagesMax && codebooks.size() % stages == 0);
    const std::size_t floats = codebooks.size() / stages;
    for (std::size_t s = 0; s < stages; ++s) {
        m_books.emplace_back(kernels, codebooks.subspan(s * floats, floats));
        m_reach += largestNorm(codebooks.subspan(s * floats, floats));
    }
    // No sum of entries y is longer than the reach. A partial sum ½‖y‖² − x·y is never below −½‖x‖², and what is far
    // above zero is not worth telling apart; a sixteenth more covers what rounding adds.
    constexpr float kReachMin = 1e-10F; // below it all entries are as good as zero
    if (m_reach > kReachMin)
        m_scale = float{INT16_MAX} / (0.53125F * m_reach * m_reach);
    for (std::size_t s = 1; s < stages; ++s) {
        for (std::size_t t = 0; t < s; ++t)
            m_products.push_back(
                productsOf(codebooks.subspan(t * floats, floats), codebooks.subspan(s * floats, floats), m_scale));
    }
}

void CodeSearch::search(kernels::BeamWidth width, const float* vectors, std::size_t count, std::uint8_t* codes) const
{
    kernels::CodeBooks books;
    books.stages = m_books.size();
    books.scale = m_scale;
    books.reach = m_reach;
    for (std::size_t s = 0; s < books.stages; ++s) {
        books.books[s] = m_books[s].view();
        for (std::size_t t = 0; t < s; ++t)
            books.products[t][s] = m_products[s * (s - 1) / 2 + t].data();
    }
    m_kernels->searchCodes(books, width, vectors, count, codes);
}

} // namespace waste
