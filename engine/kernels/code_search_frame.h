#pragma once

#include "kernels/code_search.h"

#include <cstddef>
#include <cstdint>

// What the code searches of all vector instruction sets have in common, in a namespace of each file's own: what is
// compiled for one set of instructions is never linked into another one's table.

namespace waste::kernels {
namespace {

// Beginnings of codes.
struct Beam {
    std::int32_t keys[kBeamWidthMax];
    std::uint32_t codes[kBeamWidthMax]; // stage s at bits 8s

    [[nodiscard]] std::int16_t sum(std::size_t i) const { return static_cast<std::int16_t>(keys[i] >> kCandidateBits); }
};

// The search for codes, made of the steps that an instruction set has of its own. A chunk is kCodeLanes entries.
//
//     static float squareRoot(float x);
//     // units[stage][productPlace(entry)]
//     template<kChunks> static void scoreEntries(books, vector, units);
//     // The best beginnings with one stage more: [bins][depth][lanes]. `beam` is one empty beginning if kStage is 0.
//     template<kStage, kChunks, kBins, kDepth> static void expand(books, units, beam, next);
//     // The best code of all that kParents beginnings become with the last stage.
//     template<kStage, kChunks, kParents> static std::uint32_t finish(books, units, beam);
template<class Steps>
class CodeSearch {
public:
    // As KernelTable::searchCodes.
    static void run(
        const CodeBooks& books, BeamWidth width, const float* vectors, std::size_t count, std::uint8_t* codes)
    {
        if (books.entries == 64)
            runWith<64 / kCodeLanes>(books, width, vectors, count, codes);
        else
            runWith<256 / kCodeLanes>(books, width, vectors, count, codes);
    }

    // What brings x to integers, shortened to the reach if it is longer; zero if it has no length.
    static float integerScale(const CodeBooks& books, const float* x)
    {
        constexpr float kLargest = 3.4028235e38F;
        float square = 0;
        for (std::size_t d = 0; d < kCodeColumns; ++d)
            square += x[d] * x[d];
        if (square <= books.reach * books.reach)
            return books.vectorScale;
        return square <= kLargest ? 32767 / Steps::squareRoot(square) : 0;
    }

private:
    template<std::size_t kChunks>
    static void runWith(
        const CodeBooks& books, BeamWidth width, const float* vectors, std::size_t count, std::uint8_t* codes)
    {
        switch (width) {
        case BeamWidth::Eight:
            return runAll<kChunks, 1, 1>(books, vectors, count, codes);
        case BeamWidth::Sixteen:
            return runAll<kChunks, 1, 2>(books, vectors, count, codes);
        case BeamWidth::ThirtyTwo:
            return runAll<kChunks, 1, 4>(books, vectors, count, codes);
        case BeamWidth::SixtyFour:
            return runAll<kChunks, 2, 4>(books, vectors, count, codes);
        }
    }

    template<std::size_t kChunks, std::size_t kBins, std::size_t kDepth>
    static void runAll(const CodeBooks& books, const float* vectors, std::size_t count, std::uint8_t* codes)
    {
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint32_t code = bestCode<kChunks, kBins, kDepth>(books, vectors + i * kCodeColumns);
            for (std::size_t stage = 0; stage < books.stages; ++stage)
                codes[i * books.stages + stage] = static_cast<std::uint8_t>(code >> (8 * stage));
        }
    }

    template<std::size_t kChunks, std::size_t kBins, std::size_t kDepth>
    static std::uint32_t bestCode(const CodeBooks& books, const float* vector)
    {
        constexpr std::size_t kParents = kBins * kDepth * kCodeLanes; // of all stages but the first
        std::int16_t units[kCodeStagesMax * kChunks * kCodeLanes];
        Steps::template scoreEntries<kChunks>(books, vector, units);
        Beam beams[2];
        beams[0].keys[0] = 0;
        beams[0].codes[0] = 0;
        Steps::template expand<0, kChunks, kBins, kDepth>(books, units, beams[0], beams[1]);
        if (books.stages == 2)
            return Steps::template finish<1, kChunks, kParents>(books, units, beams[1]);
        Steps::template expand<1, kChunks, kBins, kDepth>(books, units, beams[1], beams[0]);
        if (books.stages == 3)
            return Steps::template finish<2, kChunks, kParents>(books, units, beams[0]);
        Steps::template expand<2, kChunks, kBins, kDepth>(books, units, beams[0], beams[1]);
        return Steps::template finish<3, kChunks, kParents>(books, units, beams[1]);
    }
};

// The nearest entry of those that were the best of each lane, the first one of several: score, and in which turn the
// lane came to it.
template<std::size_t kLanes>
std::uint8_t nearestOf(const float (&scores)[kLanes], const std::uint32_t (&turns)[kLanes])
{
    std::size_t lane = 0;
    for (std::size_t other = 1; other < kLanes; ++other) {
        if (scores[other] < scores[lane] || (scores[other] == scores[lane] && turns[other] < turns[lane]))
            lane = other;
    }
    return static_cast<std::uint8_t>(turns[lane] * kLanes + lane);
}

} // namespace
} // namespace waste::kernels
