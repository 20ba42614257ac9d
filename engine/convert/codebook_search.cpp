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

// The nearest one of 16 bits.
std::int16_t integer(float value)
{
    return static_cast<std::int16_t>(std::clamp(std::nearbyint(value), float{INT16_MIN}, float{INT16_MAX}));
}

std::vector<std::int16_t> productsOf(std::span<const float> earlier, std::span<const float> later, float scale)
{
    const std::size_t laterCount = later.size() / kVectorDim;
    std::vector<std::int16_t> products(earlier.size() / kVectorDim * laterCount);
    for (std::size_t i = 0; i < earlier.size() / kVectorDim; ++i) {
        for (std::size_t j = 0; j < laterCount; ++j) {
            products[i * laterCount + kernels::productPlace(j)] =
                integer(dot(&earlier[i * kVectorDim], &later[j * kVectorDim]) * scale);
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
    const auto book = [&](std::size_t stage) { return codebooks.subspan(stage * floats, floats); };
    for (std::size_t s = 0; s < stages; ++s)
        m_reach += largestNorm(book(s));
    // No sum of entries y is longer than the reach. A partial sum ½‖y‖² − x·y is never below −½‖x‖², and what is far
    // above zero is not worth telling apart; a sixteenth more covers what rounding adds.
    constexpr float kReachMin = 1e-10F; // below it all entries are as good as zero, and are made that
    constexpr float kRoom = 0.53125F;
    constexpr auto kProduct = static_cast<float>(1 << kernels::kProductBits);
    const bool isZero = m_reach <= kReachMin;
    const float scale = isZero ? 0 : float{INT16_MAX} / (kRoom * m_reach * m_reach);
    m_vectorScale = isZero ? 0 : float{INT16_MAX} / m_reach;
    const float entryScale = isZero ? 0 : kProduct / (kRoom * m_reach); // vectorScale · entryScale = kProduct · scale
    for (std::size_t s = 0; s < stages; ++s) {
        m_stages.push_back(stageOf(book(s), entryScale, kProduct * scale));
        for (std::size_t t = 0; t < s; ++t)
            m_products.push_back(productsOf(book(t), book(s), scale));
    }
}

CodeSearch::Stage CodeSearch::stageOf(std::span<const float> codebook, float entryScale, float productScale)
{
    Stage stage;
    stage.columns.resize(codebook.size());
    stage.halfNorms.resize(codebook.size() / kVectorDim);
    assert(stage.halfNorms.size() == 64 || stage.halfNorms.size() == 256);
    constexpr std::size_t kPairs = kVectorDim / 2;
    for (std::size_t e = 0; e < stage.halfNorms.size(); ++e) {
        const float* const entry = &codebook[e * kVectorDim];
        for (std::size_t d = 0; d < kVectorDim; ++d)
            stage.columns[((e / kCodeLanes * kPairs + d / 2) * kCodeLanes + e % kCodeLanes) * 2 + d % 2] =
                integer(entry[d] * entryScale);
        constexpr std::int32_t kHalf = 1 << (kernels::kProductBits - 1);
        stage.halfNorms[e] = static_cast<std::int32_t>(dot(entry, entry) / 2 * productScale) + kHalf;
    }
    return stage;
}

void CodeSearch::search(kernels::BeamWidth width, const float* vectors, std::size_t count, std::uint8_t* codes) const
{
    kernels::CodeBooks books;
    books.stages = m_stages.size();
    books.entries = m_stages.front().halfNorms.size();
    books.vectorScale = m_vectorScale;
    books.reach = m_reach;
    for (std::size_t s = 0; s < books.stages; ++s) {
        books.books[s] = {m_stages[s].columns.data(), m_stages[s].halfNorms.data()};
        for (std::size_t t = 0; t < s; ++t)
            books.products[t][s] = m_products[s * (s - 1) / 2 + t].data();
    }
    m_kernels->searchCodes(books, width, vectors, count, codes);
}

} // namespace waste
