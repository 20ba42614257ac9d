#if defined(__aarch64__)

#include "kernels/arm_neon.h"

// Tables of products for routed experts (product_tables.h).
//
// One instruction looks sixteen rows up in 64 bytes, so an entry is seven bits and seven bits in two planes of bytes
// and a lookup one instruction a plane: lower bits, which are unsigned, and upper ones, which are signed. Two lookups
// are summed in bytes, the rest in 16 bits.

namespace waste::kernels {

namespace {

constexpr std::size_t kTableStages = kPackedTables.stages;
constexpr std::size_t kTableEntries = kPackedTables.entries;
constexpr std::size_t kTableBytes = reducedTableBytes(kPackedTables); // of a position
constexpr std::size_t kCodebookEntries = 256; // stored per stage
constexpr std::size_t kBlockRows = kTableRows;
constexpr int kPlaneBits = 7;
static_assert(kTableMax < 1 << (2 * kPlaneBits - 1));

// ---- building

// Codebooks with the entries of one component side by side, so that four entries are computed at a time.
struct TransposedCodebooks {
    float values[kTableStages][kTableColumns][kTableEntries];

    explicit TransposedCodebooks(const float* codebooks)
    {
        for (std::size_t stage = 0; stage < kTableStages; ++stage) {
            const float* const book = codebooks + stage * kCodebookEntries * kTableColumns;
            for (std::size_t entry = 0; entry < kTableEntries; ++entry) {
                for (std::size_t j = 0; j < kTableColumns; ++j)
                    values[stage][j][entry] = book[entry * kTableColumns + j];
            }
        }
    }
};

// Contributions of one block of positions, and the largest magnitude among them by its bits, which are in order.
struct BlockValues {
    float values[kTableBlock][kTableStages * kTableEntries];
    uint32x4_t largest = vdupq_n_u32(0);
};

// A product of four entries waits for the one before it; four registers of them hide that.
void computePosition(const TransposedCodebooks& books, const float* x, float* values, uint32x4_t& largest)
{
    constexpr std::size_t kRegisters = 4;
    for (std::size_t stage = 0; stage < kTableStages; ++stage) {
        for (std::size_t entry = 0; entry < kTableEntries; entry += kRegisters * kWidth) {
            float32x4_t sums[kRegisters] = {};
            for (std::size_t j = 0; j < kTableColumns; ++j) {
                for (std::size_t n = 0; n < kRegisters; ++n)
                    sums[n] = vfmaq_n_f32(sums[n], vld1q_f32(books.values[stage][j] + entry + n * kWidth), x[j]);
            }
            for (std::size_t n = 0; n < kRegisters; ++n) {
                vst1q_f32(values + stage * kTableEntries + entry + n * kWidth, sums[n]);
                largest = vmaxq_u32(largest, vreinterpretq_u32_f32(vabsq_f32(sums[n])));
            }
        }
    }
}

int16x8_t quantizeEight(const float* values, float perUnit)
{
    const auto four = [&](const float* p) { return vmovn_s32(vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(p), perUnit))); };
    return vcombine_s16(four(values), four(values + kWidth));
}

// [stage][plane][entry]
void storePlanes(const float* values, float perUnit, std::uint8_t* table)
{
    for (std::size_t i = 0; i < kTableStages * kTableEntries; i += 16) {
        const int16x8_t first = quantizeEight(values + i, perUnit);
        const int16x8_t second = quantizeEight(values + i + 8, perUnit);
        const uint8x16_t lowerBytes = vuzp1q_u8(vreinterpretq_u8_s16(first), vreinterpretq_u8_s16(second));
        std::uint8_t* const out = table + i / kTableEntries * 2 * kTableEntries + i % kTableEntries;
        vst1q_u8(out, vandq_u8(lowerBytes, vdupq_n_u8((1 << kPlaneBits) - 1)));
        vst1q_s8(reinterpret_cast<std::int8_t*>(out + kTableEntries),
            vcombine_s8(vshrn_n_s16(first, kPlaneBits), vshrn_n_s16(second, kPlaneBits)));
    }
}

// ---- looking up

// What was looked up for sixteen rows, two lookups at a time. 8 positions · 4 stages · 127 fit 16 bits.
struct Sums {
    uint16x8_t low[2] = {};
    int16x8_t high[2] = {};

    void add(uint8x16_t lowBytes, int8x16_t highBytes)
    {
        low[0] = vaddw_u8(low[0], vget_low_u8(lowBytes));
        low[1] = vaddw_high_u8(low[1], lowBytes);
        high[0] = vaddw_s8(high[0], vget_low_s8(highBytes));
        high[1] = vaddw_high_s8(high[1], highBytes);
    }
};

// Index of one stage for sixteen rows, from the three bytes of each.
uint8x16_t stageIndex(const uint8x16x3_t& bytes, std::size_t stage)
{
    const uint8x16_t sixBits = vdupq_n_u8(63);
    switch (stage) {
    case 0:
        return vandq_u8(bytes.val[0], sixBits);
    case 1:
        return vandq_u8(vsliq_n_u8(vshrq_n_u8(bytes.val[0], 6), bytes.val[1], 2), sixBits);
    case 2:
        return vandq_u8(vsliq_n_u8(vshrq_n_u8(bytes.val[1], 4), bytes.val[2], 4), sixBits);
    default:
        return vshrq_n_u8(bytes.val[2], 2);
    }
}

constexpr std::size_t kParts = 2; // of sixteen rows that share a loaded table

// Adds what the four stages of one position contribute to the rows of all parts.
void addPosition(const std::uint8_t* indices, const std::uint8_t* table, Sums (&sums)[kParts])
{
    uint8x16x3_t bytes[kParts];
    for (std::size_t part = 0; part < kParts; ++part)
        bytes[part] = vld3q_u8(indices + part * 48);
    for (std::size_t stage = 0; stage < kTableStages; stage += 2) {
        uint8x16_t low[kParts] = {};
        uint8x16_t high[kParts] = {};
        for (std::size_t s = stage; s < stage + 2; ++s) {
            const uint8x16x4_t lowPlane = vld1q_u8_x4(table + s * 2 * kTableEntries);
            const uint8x16x4_t highPlane = vld1q_u8_x4(table + (s * 2 + 1) * kTableEntries);
            for (std::size_t part = 0; part < kParts; ++part) {
                const uint8x16_t index = stageIndex(bytes[part], s);
                low[part] = vaddq_u8(low[part], vqtbl4q_u8(lowPlane, index));
                high[part] = vaddq_u8(high[part], vqtbl4q_u8(highPlane, index));
            }
        }
        for (std::size_t part = 0; part < kParts; ++part)
            sums[part].add(low[part], vreinterpretq_s8_u8(high[part]));
    }
}

// results[r] += scale · (128·high + low) for four rows
void foldFour(uint16x4_t low, int16x4_t high, float scale, float* results)
{
    const uint32x4_t upper = vreinterpretq_u32_s32(vshll_n_s16(high, kPlaneBits));
    const float32x4_t value = vcvtq_f32_s32(vreinterpretq_s32_u32(vaddw_u16(upper, low)));
    vst1q_f32(results, vfmaq_n_f32(vld1q_f32(results), value, scale));
}

void fold(const Sums& sums, float scale, float* results)
{
    for (std::size_t half = 0; half < 2; ++half) {
        foldFour(vget_low_u16(sums.low[half]), vget_low_s16(sums.high[half]), scale, results + half * 8);
        foldFour(vget_high_u16(sums.low[half]), vget_high_s16(sums.high[half]), scale, results + half * 8 + kWidth);
    }
}

constexpr std::size_t kRowsAtOnce = 256; // share a block's tables while they are in the first-level cache

// results[r] += what positions [position, position + count) contribute to rows [first, last).
void addBlock(const VqMatrixView& matrix, const TableInput& tables, std::size_t position, std::size_t count,
    std::size_t first, std::size_t last, float* results)
{
    constexpr std::size_t kBytes = 3; // of a position's indices
    const std::size_t blockBytes = tables.positions * kBlockRows * kBytes;
    for (std::size_t row = first; row < last; row += kParts * 16) {
        const std::uint8_t* indices =
            matrix.indices + row / kBlockRows * blockBytes + (position * kBlockRows + row % kBlockRows) * kBytes;
        const std::uint8_t* table = tables.entries + position * kTableBytes;
        Sums sums[kParts];
        for (std::size_t i = 0; i < count; ++i) {
            // For the next block of positions.
            __builtin_prefetch(indices + kTableBlock * kBlockRows * kBytes);
            __builtin_prefetch(indices + kTableBlock * kBlockRows * kBytes + 64);
            addPosition(indices, table, sums);
            indices += kBlockRows * kBytes;
            table += kTableBytes;
        }
        for (std::size_t part = 0; part < kParts; ++part)
            fold(sums[part], tables.scales[position / kTableBlock], results + (row - first) + part * 16);
    }
}

} // namespace

namespace neon {

void buildTables(
    const VqMatrixView& matrix, const float* x, const TableInput& tables, std::size_t begin, std::size_t end)
{
    const TransposedCodebooks books(matrix.codebooks);
    for (std::size_t first = begin; first < end; first += kTableBlock) {
        const std::size_t positions = smaller(end - first, kTableBlock);
        BlockValues block;
        for (std::size_t p = 0; p < positions; ++p)
            computePosition(books, x + (first + p) * kTableColumns, block.values[p], block.largest);
        constexpr std::uint32_t kInfinityBits = 0x7F800000;
        const std::uint32_t bits = vmaxvq_u32(block.largest);
        const bool isNumber = bits < kInfinityBits;
        float largest = __builtin_nanf("");
        if (isNumber)
            __builtin_memcpy(&largest, &bits, sizeof largest);
        const bool isZero = !(largest >= kReducedMagnitudeMin);
        tables.scales[first / kTableBlock] = isZero && isNumber ? 0.0F : largest / kTableMax;
        for (std::size_t p = 0; p < positions; ++p)
            storePlanes(
                block.values[p], isZero ? 0.0F : kTableMax / largest, tables.entries + (first + p) * kTableBytes);
    }
}

void multiplyTables(
    const VqMatrixView& matrix, const TableInput& tables, float* y, std::uint32_t begin, std::uint32_t end)
{
    for (std::size_t first = begin; first < end; first += kRowsAtOnce) {
        const std::size_t last = smaller(first + kRowsAtOnce, end);
        float results[kRowsAtOnce] = {};
        for (std::size_t position = 0; position < tables.positions; position += kTableBlock)
            addBlock(matrix, tables, position, smaller(tables.positions - position, kTableBlock), first, last, results);
        for (std::size_t row = first; row < last; ++row)
            y[row] = results[row - first] * floatFromHalf(matrix.scales[row]);
    }
}

} // namespace neon
} // namespace waste::kernels
#endif
