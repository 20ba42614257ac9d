#pragma once

#include "kernels/kernel_table.h"
#include "kernels/panel_product.h"
#include "kernels/thread_pool.h"
#include "memory/arena.h"
#include "vision/image_plan.h"
#include "vision/vision_config.h"
#include "vision/vision_weights.h"
#include "waste/result.h"
#include "waste/types.h"

#include <span>
#include <vector>

namespace waste {

// Turns the patches of one picture into rows that replace embeddings (spec: vision 3).
// One thread at a time; loops run on the pool.
class VisionTower {
public:
    struct Parts { // all outlive the tower
        const VisionConfig& config;
        const VisionWeights& weights;
        const kernels::KernelTable& kernels;
        ThreadPool& pool;
    };

    // Memory of one encode() of `patchCount` patches.
    static std::uint64_t scratchBytes(const VisionConfig& config, std::uint32_t patchCount, std::uint32_t threadCount);

    // What one encode() of `patchCount` patches computes.
    static std::uint64_t multiplyAdds(const VisionConfig& config, std::uint32_t patchCount);

    explicit VisionTower(const Parts& parts)
        : m_parts(parts)
    {
    }

    // patches [plan.patchCount()][588] → [plan.positionCount()][text hidden size]. `progress` counts blocks;
    // a cancel is seen between them. Errors: Cancelled, OutOfMemory.
    Result<std::vector<float>> encode(std::span<const float> patches, const ImagePlan& plan,
        const ProgressSink& progress = {}, const CancelFlag* cancel = nullptr) const;

private:
    struct Buffers;

    void embed(std::span<const float> patches, const ImagePlan& plan, const Buffers& buffers) const;
    void attend(const VisionWeights::Block& block, const class PatchRotation& rotation, const Buffers& buffers) const;
    void feedForward(const VisionWeights::Block& block, const Buffers& buffers) const;
    std::vector<float> project(const ImagePlan& plan, const Buffers& buffers) const;
    void normalise(
        std::span<const float> x, const float* weight, float epsilon, std::span<float> y, std::size_t width) const;
    void multiply(const kernels::MatrixView& matrix, std::span<const float> x, std::span<float> y, kernels::Sum sum,
        const Buffers& buffers) const;

    Parts m_parts;
};

} // namespace waste
