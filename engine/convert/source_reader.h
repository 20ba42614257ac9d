#pragma once

#include "checkpoint/checkpoint_files.h"
#include "convert/conversion_plan.h"
#include "convert/conversion_progress.h"
#include "kernels/thread_pool.h"
#include "waste/result.h"

#include <cstdint>
#include <span>
#include <vector>

namespace waste {

// CheckpointFiles::read() for weights that will be quantised: a value that is infinite or not a number is
// Corrupt, naming the tensor, before it can spoil a codebook that a whole layer shares.
Status readFinite(
    const CheckpointFiles& files, const CheckpointTensor& tensor, std::uint64_t first, std::span<float> target);
// The same by all threads of the pool, a piece at a time: decoding takes longer than reading, and while one thread does
// it the others would wait. Of several errors the first in the tensor.
Status readFinite(const CheckpointFiles& files, const CheckpointTensor& tensor, std::uint64_t first,
    std::span<float> target, ThreadPool& pool);

// readFinite() of every dense tensor that is small: norms, biases, decays, routers, and of a small model all of
// them. They are read last, after days on a large model; a damaged one is to be heard of at once. Shards
// that are not there are passed over.
Status checkSmallTensors(const CheckpointFiles& files, const ConversionPlan& plan, const ConversionProgress& progress);

// The matrices of all experts of a layer that belongs to the plan.
std::vector<const CheckpointTensor*> expertTensors(
    const CheckpointFiles& files, const ConversionPlan& plan, const BankEntry& bank);
// Whether the shards of all of them are open.
bool canReadExperts(const CheckpointFiles& files, const ConversionPlan& plan, const BankEntry& bank);

// The error for a tensor whose scales overflow half precision.
Error scaleOverflow(const CheckpointTensor& tensor);

} // namespace waste
