#pragma once

#include "base/checked.h"
#include "kernels/kernel_table.h"
#include "kernels/thread_pool.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace waste {

class PatchRotation;

// Attention of every patch of a picture to all of its patches (spec: vision 3.2 and 3.3), a tile of queries at a
// time: a worker keeps the scores of one tile and never those of a head. Keys and values are kept as panels.
class PatchAttention {
public:
    struct Shape {
        std::uint32_t patchCount = 0;
        std::uint32_t gridColumns = 0;
        std::uint32_t headCount = 0;
        std::uint32_t headDim = 0;

        [[nodiscard]] std::size_t width() const { return std::size_t{headCount} * headDim; }
    };

    // From an Arena, or from an ArenaSize for the plan.
    template<typename A>
    static PatchAttention carve(A& arena, const Shape& shape, std::uint32_t threadCount)
    {
        PatchAttention attention;
        attention.m_shape = shape;
        attention.m_keys = arena.template take<float>(shape.headCount * keyFloats(shape));
        attention.m_values = arena.template take<float>(shape.headCount * valueFloats(shape));
        attention.m_scratch = arena.template take<float>(threadCount * workerFloats(shape));
        return attention;
    }

    // qkv [patches][3][heads][headDim] → attended [patches][heads][headDim]. Turns queries and keys in place.
    void run(const kernels::KernelTable& kernels, ThreadPool& pool, const PatchRotation& rotation, std::span<float> qkv,
        std::span<float> attended) const;

private:
    static constexpr std::uint32_t kQueryTile = 48;
    static constexpr std::uint32_t kDepth = 256; // patches whose values are added together

    static std::size_t panels(std::size_t rows) { return ceilDivide(rows, kernels::kPanelRows); }
    // Of one head.
    static std::size_t keyFloats(const Shape& shape)
    {
        return panels(shape.patchCount) * shape.headDim * kernels::kPanelRows;
    }
    static std::size_t valueFloats(const Shape& shape)
    {
        return panels(shape.headDim) * shape.patchCount * kernels::kPanelRows;
    }
    // From one query's scores to the next one's: no power of two, so that they keep apart in the caches.
    static std::size_t scoreStride(const Shape& shape) { return (panels(shape.patchCount) + 1) * kernels::kPanelRows; }
    static std::size_t workerFloats(const Shape& shape) { return kQueryTile * (shape.headDim + scoreStride(shape)); }

    void turnAndPack(const kernels::KernelTable& kernels, const PatchRotation& rotation, std::span<float> qkv,
        std::uint32_t panel) const;
    void attendTile(const kernels::KernelTable& kernels, std::span<const float> qkv, std::uint32_t head,
        std::uint32_t firstQuery, float* scratch, std::span<float> attended) const;

    Shape m_shape;
    std::span<float> m_keys; // [heads][panels of patches][headDim][kPanelRows]
    std::span<float> m_values; // [heads][panels of headDim][patches][kPanelRows]
    std::span<float> m_scratch; // [threads][workerFloats]
};

} // namespace waste
