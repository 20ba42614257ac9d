#pragma once

#include "container/format.h"
#include "convert/codebook_search.h"
#include "convert/random.h"
#include "convert/stop_check.h"
#include "convert/vq_recipe.h"
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
    struct Shape {
        std::size_t stages = 3;
        std::size_t entries = 256;
    };
    // Values [stages][entries][kVectorDim].
    VqCodebooks(Shape shape, std::span<const float> values, const kernels::KernelTable& kernels);

    // First one stage after the other, each fitted to what the nearest entries before it left over; then all of
    // them together, in rounds of searching and refitting. `stopped` is asked before every pass over the sample.
    static VqCodebooks fit(std::vector<float> sample, const ExpertQuant& quant, const VqRecipe& recipe, Random random,
        const kernels::KernelTable& kernels, ThreadPool& pool, const StopCheck& stopped = {});

    [[nodiscard]] std::size_t stageCount() const { return m_shape.stages; }
    [[nodiscard]] const CodeSearch& codeSearch() const { return m_search; }
    [[nodiscard]] const float* entry(std::size_t stage, std::uint8_t index) const
    {
        return m_values.data() + (stage * m_shape.entries + index) * kVectorDim;
    }

    // The stages as records of codebooks.bin with ids from `firstId` on.
    void appendRecords(std::uint32_t firstId, std::vector<std::byte>& target) const;

private:
    Shape m_shape;
    std::vector<std::uint16_t> m_halves; // [stages][entries][kVectorDim]
    std::vector<float> m_values; // the same as f32
    CodeSearch m_search;
};

} // namespace waste
