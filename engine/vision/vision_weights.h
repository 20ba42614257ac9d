#pragma once

#include "kernels/kernel_table.h"
#include "vision/vision_config.h"
#include "waste/result.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace waste {

// Weights of tower and projector as views of memory that someone else keeps, except where a stored form
// cannot be multiplied with. Dv hidden size, Q qkv size, Fv mlp width, h text hidden size.
struct VisionWeights { // spec: vision 1
    struct Block {
        const float* attentionNorm = nullptr; // norm0 [Dv]
        kernels::MatrixView qkv; // [3Q][Dv]
        kernels::MatrixView output; // wo [Dv][Q]
        const float* mlpNorm = nullptr; // norm1 [Dv]
        kernels::MatrixView mlpUp; // fc0 [Fv][Dv]
        kernels::MatrixView mlpDown; // fc1 [Dv][Fv]
    };
    std::vector<float> patchKernel; // [Dv][588], always f32: containers disagree about its shape
    kernels::MatrixView positions; // [positionRows · positionColumns][Dv]
    std::vector<Block> blocks;
    const float* finalNorm = nullptr; // [Dv]
    kernels::MatrixView projectorUp; // proj.0 [4Dv][4Dv]
    kernels::MatrixView projectorDown; // proj.2 [h][4Dv]
    const float* projectorNorm = nullptr; // post_norm [h]
};

// Names and shapes of every tensor of tower and projector, for those who load them.
struct VisionTensor {
    std::string name;
    std::uint64_t rows = 0; // product of all dimensions but the last
    std::uint32_t columns = 0;
    bool f32Only = false;
};
std::vector<VisionTensor> visionTensors(const VisionConfig& config);

// A tensor in memory by its full name; rows are the product of all dimensions but the last. Empty: not there.
using VisionTensorLookup = std::function<std::optional<kernels::MatrixView>(std::string_view name)>;

// Errors: Corrupt naming the tensor that is absent, of another shape, or not f32 where it must be.
Result<VisionWeights> bindVisionWeights(
    const VisionConfig& config, const VisionTensorLookup& lookup, const kernels::KernelTable& kernels);

} // namespace waste
