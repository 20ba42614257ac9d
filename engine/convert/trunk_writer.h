#pragma once

#include "checkpoint/checkpoint_files.h"
#include "convert/conversion_plan.h"
#include "convert/conversion_progress.h"
#include "convert/squared_error.h"
#include "kernels/thread_pool.h"
#include "platform/output_file.h"
#include "waste/result.h"

#include <vector>

namespace waste {

struct WrittenTrunk {
    std::vector<TrunkEntry> entries; // those of the plan, with checksums
    SquaredError quantised; // over all tensors that are not stored as F32
};

// Writes every tensor of the plan to its place in `trunk`, an empty file. Tensors are read in tiles of rows:
// an embedding table of gigabytes needs no more memory than a small matrix.
// Errors: those of CheckpointFiles::read(), Io, NoSpace, Unsupported (a scale overflows), Cancelled.
Result<WrittenTrunk> writeTrunk(const CheckpointFiles& files, const ConversionPlan& plan, OutputFile& trunk,
    ThreadPool& pool, ConversionProgress& progress);

} // namespace waste
