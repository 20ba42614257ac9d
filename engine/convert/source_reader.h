#pragma once

#include "checkpoint/checkpoint_files.h"
#include "waste/result.h"

#include <cstdint>
#include <span>

namespace waste {

// CheckpointFiles::read() for weights that will be quantised: a value that is infinite or not a number is
// Corrupt, naming the tensor, before it can spoil a codebook that a whole layer shares.
Status readFinite(
    const CheckpointFiles& files, const CheckpointTensor& tensor, std::uint64_t first, std::span<float> target);

// The error for a tensor whose scales overflow half precision.
Error scaleOverflow(const CheckpointTensor& tensor);

} // namespace waste
