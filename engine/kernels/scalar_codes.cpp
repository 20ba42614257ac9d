#include "kernels/scalar_codes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace waste::kernels::scalar {

namespace {

using Vector = std::array<std::int16_t, kCodeColumns>;
using Scores = std::array<float, kCodeEntriesMax>;
using Units = std::array<std::int16_t, kCodeEntriesMax>;
using Keys = std::array<std::int32_t, kCodeEntriesMax>;

struct Beginning {
    std::int32_t key = 0; // its sum, and in the candidate bits where it came from
    [[nodiscard]] std::int16_t sum() const { return static_cast<std::int16_t>(key >> kCandidateBits); }
    std::array<std::uint8_t, kCodeStagesMax> codes{};
};

struct Beam {
    std::size_t count = 1;
    std::array<Beginning, kBeamWidthMax> beginnings;
};

// ½‖c‖² − x·c for all entries: the products of even columns are subtracted one by one, then the sum of those of odd
// columns.
void scoreEntries(const CodeBook& book, const float* x, Scores& scores)
{
    Scores odd{};
    std::copy_n(book.halfNorms, book.entries, scores.begin());
    for (std::size_t chunk = 0; chunk < book.entries; chunk += kCodeLanes) {
        const float* const columns = book.columns + chunk * kCodeColumns;
        for (std::size_t d = 0; d < kCodeColumns; d += 2) {
            for (std::size_t lane = 0; lane < kCodeLanes; ++lane) {
                scores[chunk + lane] -= x[d] * columns[d * kCodeLanes + lane];
                odd[chunk + lane] += x[d + 1] * columns[(d + 1) * kCodeLanes + lane];
            }
        }
    }
    for (std::size_t e = 0; e < book.entries; ++e)
        scores[e] -= odd[e];
}

std::int16_t saturated(std::int32_t value)
{
    return static_cast<std::int16_t>(std::clamp<std::int32_t>(value, INT16_MIN, INT16_MAX));
}

// x in integers, shortened to `reach` if it is longer; zero if it has no length.
Vector integersOf(const CodeBooks& books, const float* x)
{
    Vector integers{};
    float square = 0;
    for (std::size_t d = 0; d < kCodeColumns; ++d)
        square += x[d] * x[d];
    if (!std::isfinite(square))
        return integers;
    const float scale = square <= books.reach * books.reach ? books.vectorScale : float{INT16_MAX} / std::sqrt(square);
    for (std::size_t d = 0; d < kCodeColumns; ++d)
        integers[d] = saturated(static_cast<std::int32_t>(std::nearbyint(x[d] * scale)));
    return integers;
}

Units unitsOfStage(const CodeBooks& books, std::size_t stage, const Vector& x)
{
    Units units;
    for (std::size_t e = 0; e < books.entries; ++e) {
        const std::int16_t* const columns =
            books.books[stage].columns + e / kCodeLanes * kCodeLanes * kCodeColumns + e % kCodeLanes * 2;
        std::int32_t score = books.books[stage].halfNorms[e];
        for (std::size_t d = 0; d < kCodeColumns; ++d)
            score -= x[d] * columns[d / 2 * 2 * kCodeLanes + d % 2];
        units[e] = saturated(score >> kProductBits);
    }
    return units;
}

// What the beginning comes to with each entry of the stage. A candidate is a beginning and the lanes of its new entry.
void continueWith(
    const CodeBooks& books, std::size_t stage, const Units& own, const Beam& beam, std::size_t parent, Keys& keys)
{
    const std::size_t entries = books.entries;
    const Beginning& beginning = beam.beginnings[parent];
    for (std::size_t e = 0; e < entries; ++e) {
        std::int16_t sum = saturated(beginning.sum() + own[e]);
        for (std::size_t t = 0; t < stage; ++t)
            sum = saturated(sum + books.products[t][stage][beginning.codes[t] * entries + productPlace(e)]);
        const std::size_t candidate = (parent * entries + e) / kCodeLanes;
        keys[e] = sum * (1 << kCandidateBits) + static_cast<std::int32_t>(candidate);
    }
}

void insert(std::int32_t* ascending, std::size_t depth, std::int32_t key)
{
    for (std::size_t d = 0; d < depth; ++d) {
        if (key < ascending[d])
            std::swap(key, ascending[d]);
    }
}

// The beginning that a key stands for, one stage longer.
Beginning grown(const Beam& beam, std::size_t stage, std::size_t entries, std::int32_t key, std::size_t lane)
{
    const std::int32_t candidate = key & ((1 << kCandidateBits) - 1);
    const auto chunks = std::max(1, static_cast<std::int32_t>(entries / kCodeLanes)); // entries: a multiple, never 0
    Beginning next = beam.beginnings[static_cast<std::size_t>(candidate / chunks)];
    next.key = key;
    next.codes[stage] = static_cast<std::uint8_t>(static_cast<std::size_t>(candidate % chunks) * kCodeLanes + lane);
    return next;
}

// Every beginning grows by one stage; of all that follow from them, the best of each class are kept.
Beam expanded(const CodeBooks& books, std::size_t stage, BeamShape shape, const Vector& x, const Beam& beam)
{
    const std::size_t entries = books.entries;
    const Units own = unitsOfStage(books, stage, x);
    std::array<std::int32_t, kBeamWidthMax> kept; // [bins][lanes][depth]
    kept.fill(std::numeric_limits<std::int32_t>::max());
    Keys keys;
    for (std::size_t parent = 0; parent < beam.count; ++parent) {
        continueWith(books, stage, own, beam, parent, keys);
        for (std::size_t e = 0; e < entries; ++e)
            insert(kept.data() + e % (shape.bins * kCodeLanes) * shape.depth, shape.depth, keys[e]);
    }
    Beam next;
    next.count = 0;
    for (std::size_t bin = 0; bin < shape.bins; ++bin) {
        for (std::size_t d = 0; d < shape.depth; ++d) {
            for (std::size_t lane = 0; lane < kCodeLanes; ++lane) {
                const std::int32_t key = kept[(bin * kCodeLanes + lane) * shape.depth + d];
                next.beginnings[next.count++] = grown(beam, stage, entries, key, lane);
            }
        }
    }
    return next;
}

} // namespace

void nearestEntries(const CodeBook& book, const float* vectors, std::size_t count, std::uint8_t* entries)
{
    Scores scores;
    for (std::size_t i = 0; i < count; ++i) {
        scoreEntries(book, vectors + i * kCodeColumns, scores);
        const auto best = std::min_element(scores.begin(), scores.begin() + static_cast<std::ptrdiff_t>(book.entries));
        entries[i] = static_cast<std::uint8_t>(best - scores.begin());
    }
}

void searchCodes(const CodeBooks& books, BeamWidth width, const float* vectors, std::size_t count, std::uint8_t* codes)
{
    for (std::size_t i = 0; i < count; ++i) {
        const Vector x = integersOf(books, vectors + i * kCodeColumns);
        Beam beam;
        for (std::size_t stage = 0; stage + 1 < books.stages; ++stage)
            beam = expanded(books, stage, kBeamShapes[static_cast<std::size_t>(width)], x, beam);
        // The last stage keeps one in each class and takes the best of these: keys are equal only in different lanes,
        // where the first is the lower entry.
        beam = expanded(books, books.stages - 1, {1, 1}, x, beam);
        const auto best = std::min_element(beam.beginnings.begin(), beam.beginnings.begin() + kCodeLanes,
            [](const Beginning& a, const Beginning& b) { return a.key < b.key; });
        std::copy_n(best->codes.begin(), books.stages, codes + i * books.stages);
    }
}

} // namespace waste::kernels::scalar
