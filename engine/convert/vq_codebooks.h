#pragma once

#include "container/format.h"
#include "convert/codebook_search.h"
#include "convert/random.h"
#include "kernels/thread_pool.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace waste {

// Vectors of normalised rows, drawn evenly from some experts of a layer: what codebooks are fitted to.
class VqSample {
public:
    // Takes `count` vectors of a matrix, or all if it has fewer, in the order in which they lie there.
    void add(std::span<const float> matrix, std::size_t columns, std::size_t count, Random& random);
    [[nodiscard]] std::vector<float> take() { return std::move(m_vectors); }

private:
    std::vector<float> m_vectors; // [][kVectorDim]
};

// Codebooks of one matrix (gate, up or down) of a layer, shared by its experts. What encodes is what a reader
// decodes: entries are rounded to the stored f16 before anything is compared with them.
class VqCodebooks {
public:
    // One stage after the other; each is fitted to what the stages before it left over.
    static VqCodebooks fit(std::vector<float> sample, const ExpertQuant& quant, Random random, ThreadPool& pool);

    [[nodiscard]] std::size_t stageCount() const { return m_stages.size(); }
    [[nodiscard]] const CodebookSearch& search(std::size_t stage) const { return m_stages[stage].search; }
    [[nodiscard]] const float* entry(std::size_t stage, std::uint8_t index) const
    {
        return m_stages[stage].values.data() + index * kVectorDim;
    }

    // The stages as records of codebooks.bin with ids from `firstId` on.
    void appendRecords(std::uint32_t firstId, std::vector<std::byte>& target) const;

private:
    struct Stage {
        explicit Stage(std::vector<float> codebook);
        std::vector<std::uint16_t> halves; // [entries][kVectorDim]
        std::vector<float> values; // the same as f32
        CodebookSearch search;
    };
    std::vector<Stage> m_stages;
};

} // namespace waste
