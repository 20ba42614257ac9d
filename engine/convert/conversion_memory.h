#pragma once

#include "checkpoint/checkpoint_files.h"
#include "convert/conversion_plan.h"

#include <cstdint>

namespace waste {

// What decides how much memory a conversion needs.
struct ConversionSizes {
    std::uint64_t tensorCount = 0; // names in the checkpoint, both halves of MXFP4 counted
    std::uint64_t expertMatrixElements = 0; // of the largest
    std::uint64_t recordBytes = 0;
    std::uint64_t trunkScaleBytes = 0; // of the tensor that has most of them
    std::uint64_t sampledVectors = 0; // that the codebooks of a matrix are fitted to
    std::uint32_t threadCount = 1;

    static ConversionSizes of(const CheckpointFiles& files, const ConversionPlan& plan, std::uint32_t threadCount);
};

// What a conversion needs at most, besides the program: one expert matrix as f32 and one tile of the trunk at a time,
// the sample that codebooks are fitted to, and the table of all tensors. Layers, shards and the size of the model add
// nothing but names.
std::uint64_t conversionMemoryBytes(const ConversionSizes& sizes);

} // namespace waste
