#include "convert/vq_codebooks.h"

#include "base/checked.h"
#include "base/half.h"
#include "convert/kmeans.h"
#include "convert/row_scale.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

namespace waste {
namespace {

std::vector<std::uint16_t> roundedToHalves(std::span<const float> values)
{
    std::vector<std::uint16_t> halves(values.size());
    std::ranges::transform(values, halves.begin(), halfFromFloat);
    return halves;
}

std::vector<float> widened(std::span<const std::uint16_t> halves)
{
    std::vector<float> values(halves.size());
    std::ranges::transform(halves, values.begin(), floatFromHalf);
    return values;
}

// At most kTileVectors vectors −= their nearest entries.
void subtractInTile(std::span<float> vectors, const CodebookSearch& search, std::span<const float> entries)
{
    std::array<std::uint8_t, kTileVectors> indices;
    const std::size_t count = vectors.size() / kVectorDim;
    assert(count <= indices.size());
    search.nearest(vectors.data(), count, indices.data());
    for (std::size_t i = 0; i < count; ++i) {
        const float* entry = entries.data() + indices[i] * kVectorDim;
        for (std::size_t d = 0; d < kVectorDim; ++d)
            vectors[i * kVectorDim + d] -= entry[d];
    }
}

void subtractNearest(
    std::span<float> vectors, const CodebookSearch& search, std::span<const float> entries, ThreadPool& pool)
{
    constexpr std::size_t kTileFloats = kTileVectors * kVectorDim;
    const std::size_t tileCount = ceilDivide(vectors.size(), kTileFloats);
    pool.parallelFor(
        static_cast<std::uint32_t>(tileCount), 1, [&](std::uint32_t begin, std::uint32_t end, std::uint32_t) {
            for (std::size_t first = begin * kTileFloats; first < std::min(end * kTileFloats, vectors.size());
                 first += kTileFloats)
                subtractInTile(vectors.subspan(first, std::min(kTileFloats, vectors.size() - first)), search, entries);
        });
}

} // namespace

void VqSample::add(std::span<const float> matrix, std::size_t columns, std::size_t count, Random& random)
{
    assert(columns % kVectorDim == 0 && matrix.size() % columns == 0);
    std::size_t left = matrix.size() / kVectorDim;
    std::size_t wanted = std::min(count, left);
    std::vector<float> normalised(columns);
    for (std::size_t first = 0; first < matrix.size() && wanted > 0; first += columns) {
        const auto row = matrix.subspan(first, columns);
        divideRow(row, rowRms(row), normalised.data());
        // Selection sampling: each vector is taken with the share that is still wanted of those left.
        for (std::size_t v = 0; v < columns; v += kVectorDim, --left) {
            if (random.below(left) >= wanted)
                continue;
            --wanted;
            m_vectors.insert(m_vectors.end(), normalised.begin() + static_cast<std::ptrdiff_t>(v),
                normalised.begin() + static_cast<std::ptrdiff_t>(v + kVectorDim));
        }
    }
}

VqCodebooks::Stage::Stage(std::vector<float> codebook)
    : halves(roundedToHalves(codebook))
    , values(widened(halves))
    , search(values)
{
}

VqCodebooks VqCodebooks::fit(std::vector<float> sample, const ExpertQuant& quant, Random random, ThreadPool& pool)
{
    VqCodebooks codebooks;
    for (std::size_t stage = 0; stage < quant.stages; ++stage) {
        const Random ofStage(random.next());
        codebooks.m_stages.emplace_back(fitCodebook(sample, {.entryCount = quant.entries}, ofStage, pool));
        const Stage& fitted = codebooks.m_stages.back();
        subtractNearest(sample, fitted.search, fitted.values, pool);
    }
    return codebooks;
}

void VqCodebooks::appendRecords(std::uint32_t firstId, std::vector<std::byte>& target) const
{
    std::uint32_t id = firstId;
    for (const Stage& stage : m_stages) {
        CodebookHeader header;
        header.id = static_cast<std::uint16_t>(id++);
        header.vecDim = kVectorDim;
        header.entries = static_cast<std::uint32_t>(stage.halves.size() / kVectorDim);
        std::array<std::byte, kCodebookHeaderBytes> bytes;
        header.encode(bytes);
        target.insert(target.end(), bytes.begin(), bytes.end());
        const auto halves = std::as_bytes(std::span(stage.halves));
        target.insert(target.end(), halves.begin(), halves.end());
    }
}

} // namespace waste
