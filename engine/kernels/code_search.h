#pragma once

#include <cstddef>
#include <cstdint>

namespace waste::kernels {

// Encoding with codebooks: a vector x of kCodeColumns values is stored as one entry of each stage's codebook, and
// a reader adds the entries up.

inline constexpr std::size_t kCodeColumns = 8;
inline constexpr std::size_t kCodeLanes = 8; // entries that lie together
inline constexpr std::size_t kCodeStagesMax = 4;
inline constexpr std::size_t kCodeEntriesMax = 256;

// One codebook. Entry e, column d at [e / kCodeLanes][d][e % kCodeLanes].
struct CodeBook {
    std::size_t entries = 0; // 64 or 256
    const float* columns = nullptr;
    const float* halfNorms = nullptr; // [entries], ½‖c‖²
};

// The products of a vector with an entry are as many times larger than sums, as a power of two.
inline constexpr int kProductBits = 14;

// One codebook in integers, for sums: |halfNorms| + INT16_MAX · ‖columns‖ must fit 32 bits.
struct CodeStage {
    // Columns 2p and 2p + 1 of entry e at [e / kCodeLanes][p][e % kCodeLanes][2]
    const std::int16_t* columns = nullptr;
    const std::int32_t* halfNorms = nullptr; // [entries], ½‖c‖² as a product, and the half that rounds
};

// All stages of a matrix. The search minimises ½‖x − Σ c‖², which is
//
//     ½‖x‖² + Σ_s (½‖c_s‖² − x·c_s) + Σ_{t<s} c_t·c_s
//
// The products of entries with entries are known before any vector is, so that a candidate costs one addition a
// stage instead of a distance. The terms are 16-bit integers: an entry's own one is (halfNorms − Σ x·c) >>
// kProductBits, of x · vectorScale rounded to 16 bits. Sums saturate, so they are made in this order: the beginning's,
// the entry's own term, its products with the stages before, the first one first. A key is a sum with the number of its
// candidate in 16 bits below.
struct CodeBooks {
    std::size_t stages = 0; // 2 to kCodeStagesMax
    std::size_t entries = 0; // of each: 64 or 256
    CodeStage books[kCodeStagesMax];
    // For stages t < s: [entries of t][entries of s], c_t·c_s in the unit of sums, entry e at productPlace(e)
    const std::int16_t* products[kCodeStagesMax][kCodeStagesMax] = {};
    float vectorScale = 0; // INT16_MAX / reach; times the entries' scale it is 2^kProductBits units of sums
    // ‖x‖; longer vectors lie beyond all sums of entries and are searched as if they ended here, and as zero where no
    // float holds ‖x‖² or x is not finite.
    float reach = 0;
};

// How many beginnings of a code are kept after each stage but the last, which takes the best of all that follow from
// them. Not exactly the best ones are kept, they would have to be sorted, but the best `depth` of each class of
// entries, entry e being of class e mod (kCodeLanes · bins): that takes minima and maxima only, and no branch.
struct BeamShape {
    std::size_t bins;
    std::size_t depth;
    [[nodiscard]] constexpr std::size_t width() const { return kCodeLanes * bins * depth; }
};
enum class BeamWidth : std::uint8_t { Eight, Sixteen, ThirtyTwo, SixtyFour };
inline constexpr BeamShape kBeamShapes[] = {{1, 1}, {1, 2}, {1, 4}, {2, 4}};
inline constexpr std::size_t kBeamWidthMax = 64;

// Of 16 entries, the second and third four are swapped: where two registers of eight leave them that are narrowed to
// one, and from where one instruction makes keys of the first eight, another of the others.
constexpr std::size_t productPlace(std::size_t entry)
{
    const std::size_t four = entry / 4 % 4;
    return four == 1 ? entry + 4 : four == 2 ? entry - 4 : entry;
}

inline constexpr int kCandidateBits = 16;
static_assert(kBeamWidthMax * kCodeEntriesMax / kCodeLanes <= 1U << kCandidateBits);

} // namespace waste::kernels
