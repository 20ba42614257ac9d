#include "convert/vq_codebooks.h"

#include "base/checked.h"
#include "base/half.h"
#include "convert/joint_refit.h"
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

// Calls work(first vector, count) for tiles of at most kTileVectors.
template<typename Work>
void forTiles(std::size_t vectorCount, ThreadPool& pool, const Work& work)
{
    const auto tileCount = static_cast<std::uint32_t>(ceilDivide(vectorCount, kTileVectors));
    pool.parallelFor(tileCount, 1, [&](std::uint32_t begin, std::uint32_t end, std::uint32_t) {
        for (std::size_t first = begin * kTileVectors; first < std::min(end * kTileVectors, vectorCount);
             first += kTileVectors)
            work(first, std::min(kTileVectors, vectorCount - first));
    });
}

// One stage after the other: [stages][entries][kVectorDim].
std::vector<float> fitStages(std::vector<float> residuals, VqCodebooks::Shape shape, Random& random,
    const kernels::KernelTable& kernels, ThreadPool& pool, const StopCheck& stopped)
{
    std::vector<float> values;
    for (std::size_t stage = 0; stage < shape.stages; ++stage) {
        const Random ofStage(random.next());
        const std::vector<float> book =
            fitCodebook(residuals, {.entryCount = shape.entries}, ofStage, kernels, pool, stopped);
        const CodebookSearch search(kernels, book);
        forTiles(residuals.size() / kVectorDim, pool, [&](std::size_t first, std::size_t count) {
            subtractInTile(std::span(residuals).subspan(first * kVectorDim, count * kVectorDim), search, book);
        });
        values.insert(values.end(), book.begin(), book.end());
    }
    return values;
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
        divideRow(row, rmsOf(squaredNorm(row), columns), normalised.data());
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

VqCodebooks::VqCodebooks(Shape shape, std::span<const float> values, const kernels::KernelTable& kernels)
    : m_shape(shape)
    , m_halves(roundedToHalves(values))
    , m_values(widened(m_halves))
    , m_search(kernels, shape.stages, m_values)
{
    assert(values.size() == shape.stages * shape.entries * kVectorDim);
}

VqCodebooks VqCodebooks::fit(std::vector<float> sample, const ExpertQuant& quant, const VqRecipe& recipe, Random random,
    const kernels::KernelTable& kernels, ThreadPool& pool, const StopCheck& stopped)
{
    const Shape shape = {quant.stages, quant.entries};
    const std::size_t count = sample.size() / kVectorDim;
    VqCodebooks codebooks(shape, fitStages(sample, shape, random, kernels, pool, stopped), kernels);
    std::vector<std::uint8_t> codes(count * shape.stages);
    for (std::uint32_t round = 0; round < recipe.refitRounds && !isStopped(stopped); ++round) {
        forTiles(count, pool, [&](std::size_t first, std::size_t tileCount) {
            codebooks.m_search.search(
                recipe.width, &sample[first * kVectorDim], tileCount, &codes[first * shape.stages]);
        });
        std::vector<float> values = codebooks.m_values;
        refitJointly(sample, codes, shape.stages, values, pool);
        codebooks = VqCodebooks(shape, values, kernels);
    }
    return codebooks;
}

void VqCodebooks::appendRecords(std::uint32_t firstId, std::vector<std::byte>& target) const
{
    std::uint32_t id = firstId;
    const std::size_t halvesPerStage = m_shape.entries * kVectorDim;
    for (std::size_t stage = 0; stage < m_shape.stages; ++stage) {
        CodebookHeader header;
        header.id = static_cast<std::uint16_t>(id++);
        header.vecDim = kVectorDim;
        header.entries = static_cast<std::uint32_t>(m_shape.entries);
        std::array<std::byte, kCodebookHeaderBytes> bytes;
        header.encode(bytes);
        target.insert(target.end(), bytes.begin(), bytes.end());
        const auto halves = std::as_bytes(std::span(m_halves).subspan(stage * halvesPerStage, halvesPerStage));
        target.insert(target.end(), halves.begin(), halves.end());
    }
}

} // namespace waste
