#include "convert/kmeans.h"

#include "convert/codebook_search.h"

#include <algorithm>
#include <array>
#include <set>

namespace waste {
namespace {

// What one tile contributes to the new entries.
struct TileSums {
    std::vector<double> sums; // [entries][kVectorDim]
    std::vector<std::uint32_t> counts; // [entries]
};

// Distinct numbers below `bound`, ascending (Floyd's sampling: no table of all of them).
std::set<std::size_t> distinctBelow(std::size_t bound, std::size_t count, Random& random)
{
    std::set<std::size_t> chosen;
    for (std::size_t last = bound - count; last < bound; ++last) {
        const auto drawn = static_cast<std::size_t>(random.below(last + 1));
        if (!chosen.insert(drawn).second)
            chosen.insert(last);
    }
    return chosen;
}

void sumTile(std::span<const float> vectors, const CodebookSearch& search, TileSums& tile)
{
    std::ranges::fill(tile.sums, 0.0);
    std::ranges::fill(tile.counts, 0U);
    std::array<std::uint8_t, kTileVectors> indices;
    const std::size_t count = vectors.size() / kVectorDim;
    search.nearest(vectors.data(), count, indices.data());
    for (std::size_t i = 0; i < count; ++i) {
        ++tile.counts[indices[i]];
        double* sum = tile.sums.data() + indices[i] * kVectorDim;
        for (std::size_t d = 0; d < kVectorDim; ++d)
            sum[d] += static_cast<double>(vectors[i * kVectorDim + d]);
    }
}

void moveEntry(std::size_t entry, std::span<const TileSums> tiles, std::vector<float>& codebook)
{
    std::array<double, kVectorDim> sum{};
    std::uint64_t count = 0;
    for (const TileSums& tile : tiles) {
        count += tile.counts[entry];
        for (std::size_t d = 0; d < kVectorDim; ++d)
            sum[d] += tile.sums[entry * kVectorDim + d];
    }
    if (count == 0)
        return;
    for (std::size_t d = 0; d < kVectorDim; ++d)
        codebook[entry * kVectorDim + d] = static_cast<float>(sum[d] / static_cast<double>(count));
}

} // namespace

std::vector<float> fitCodebook(
    std::span<const float> vectors, const KmeansOptions& options, Random random, ThreadPool& pool)
{
    const std::size_t count = vectors.size() / kVectorDim;
    std::vector<float> codebook(options.entryCount * kVectorDim);
    auto target = codebook.begin();
    for (const std::size_t start : distinctBelow(count, std::min(count, options.entryCount), random)) {
        const auto vector = vectors.subspan(start * kVectorDim, kVectorDim);
        target = std::ranges::copy(vector, target).out;
    }

    const std::size_t tileCount = (count + kTileVectors - 1) / kTileVectors;
    std::vector<TileSums> tiles(
        tileCount, {std::vector<double>(codebook.size()), std::vector<std::uint32_t>(options.entryCount)});
    for (std::uint32_t iteration = 0; iteration < options.iterations; ++iteration) {
        const CodebookSearch search(codebook);
        pool.parallelFor(
            static_cast<std::uint32_t>(tileCount), 1, [&](std::uint32_t begin, std::uint32_t end, std::uint32_t) {
                for (std::size_t tile = begin; tile < end; ++tile) {
                    const std::size_t first = tile * kTileVectors;
                    const std::size_t tileVectors = std::min(kTileVectors, count - first);
                    sumTile(vectors.subspan(first * kVectorDim, tileVectors * kVectorDim), search, tiles[tile]);
                }
            });
        for (std::size_t entry = 0; entry < options.entryCount; ++entry)
            moveEntry(entry, tiles, codebook);
    }
    return codebook;
}

} // namespace waste
