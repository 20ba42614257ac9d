#include "convert/kmeans.h"

#include "convert/codebook_search.h"

#include <algorithm>
#include <array>
#include <limits>

namespace waste {
namespace {

// The first entries are drawn from as many vectors for each of them: drawing looks at all of these for every entry.
constexpr std::size_t kSeedsPerEntry = 64;

// What one tile contributes to the new entries.
struct TileSums {
    std::vector<double> sums; // [entries][kVectorDim]
    std::vector<std::uint32_t> counts; // [entries]
};

float squaredDistance(const float* a, const float* b)
{
    float sum = 0;
    for (std::size_t d = 0; d < kVectorDim; ++d)
        sum += (a[d] - b[d]) * (a[d] - b[d]);
    return sum;
}

// Draws the places of a few vectors, each with its weight's share. None if all weights are zero.
std::size_t drawByWeight(std::span<const float> weights, Random& random)
{
    double sum = 0;
    for (const float weight : weights)
        sum += static_cast<double>(weight);
    double left = random.uniform() * sum;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        left -= static_cast<double>(weights[i]);
        if (left < 0)
            return i;
    }
    return weights.size();
}

// How many entries were found: all, unless there are fewer distinct vectors.
std::size_t seed(std::span<const float> vectors, std::span<float> codebook, Random& random)
{
    const std::size_t count = vectors.size() / kVectorDim;
    const std::size_t entryCount = codebook.size() / kVectorDim;
    const std::size_t candidates = std::min(count, kSeedsPerEntry * entryCount);
    const auto candidate = [&](std::size_t i) { return vectors.data() + i * count / candidates * kVectorDim; };
    std::vector<float> distances(candidates, std::numeric_limits<float>::max());
    std::size_t drawn = candidates == 0 ? 0 : static_cast<std::size_t>(random.below(candidates));
    for (std::size_t e = 0; e < entryCount; ++e) {
        if (drawn == candidates)
            return e;
        std::copy_n(candidate(drawn), kVectorDim, &codebook[e * kVectorDim]);
        for (std::size_t i = 0; i < candidates; ++i)
            distances[i] = std::min(distances[i], squaredDistance(candidate(i), candidate(drawn)));
        drawn = drawByWeight(distances, random);
    }
    return entryCount;
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

// Moves an entry to the mean of its vectors; returns how many it has.
std::uint64_t moveEntry(std::size_t entry, std::span<const TileSums> tiles, std::span<float> codebook)
{
    std::array<double, kVectorDim> sum{};
    std::uint64_t count = 0;
    for (const TileSums& tile : tiles) {
        count += tile.counts[entry];
        for (std::size_t d = 0; d < kVectorDim; ++d)
            sum[d] += tile.sums[entry * kVectorDim + d];
    }
    for (std::size_t d = 0; count > 0 && d < kVectorDim; ++d)
        codebook[entry * kVectorDim + d] = static_cast<float>(sum[d] / static_cast<double>(count));
    return count;
}

// An entry without vectors goes beside the one with the most, which then shares them.
void splitLargest(std::span<std::uint64_t> counts, std::span<float> codebook)
{
    constexpr float kStep = 0x1p-7F;
    for (std::size_t entry = 0; entry < counts.size(); ++entry) {
        if (counts[entry] > 0)
            continue;
        const auto largest = static_cast<std::size_t>(std::ranges::max_element(counts) - counts.begin());
        if (counts[largest] < 2)
            return;
        for (std::size_t d = 0; d < kVectorDim; ++d) {
            float& value = codebook[largest * kVectorDim + d];
            codebook[entry * kVectorDim + d] = value * (1 + kStep);
            value *= 1 - kStep;
        }
        counts[entry] = counts[largest] / 2;
        counts[largest] -= counts[entry];
    }
}

} // namespace

std::vector<float> fitCodebook(std::span<const float> vectors, const KmeansOptions& options, Random random,
    const kernels::KernelTable& kernels, ThreadPool& pool, const StopCheck& stopped)
{
    const std::size_t count = vectors.size() / kVectorDim;
    std::vector<float> codebook(options.entryCount * kVectorDim);
    const std::size_t found = seed(vectors, codebook, random);
    const std::size_t tileCount = (count + kTileVectors - 1) / kTileVectors;
    std::vector<TileSums> tiles(
        tileCount, {std::vector<double>(codebook.size()), std::vector<std::uint32_t>(options.entryCount)});
    std::vector<std::uint64_t> counts(found);
    for (std::uint32_t iteration = 0; iteration < options.iterations && !isStopped(stopped); ++iteration) {
        const CodebookSearch search(kernels, codebook);
        pool.parallelFor(
            static_cast<std::uint32_t>(tileCount), 1, [&](std::uint32_t begin, std::uint32_t end, std::uint32_t) {
                for (std::size_t tile = begin; tile < end; ++tile) {
                    const std::size_t first = tile * kTileVectors;
                    const std::size_t tileVectors = std::min(kTileVectors, count - first);
                    sumTile(vectors.subspan(first * kVectorDim, tileVectors * kVectorDim), search, tiles[tile]);
                }
            });
        for (std::size_t entry = 0; entry < found; ++entry)
            counts[entry] = moveEntry(entry, tiles, codebook);
        if (iteration + 1 < options.iterations)
            splitLargest(counts, codebook);
    }
    return codebook;
}

} // namespace waste
