#pragma once

#include "checkpoint/checkpoint_files.h"
#include "convert/conversion_plan.h"
#include "convert/conversion_progress.h"
#include "convert/squared_error.h"
#include "kernels/thread_pool.h"
#include "platform/output_file.h"
#include "waste/result.h"

#include <cstdint>

namespace waste {

struct WrittenTensor {
    std::uint32_t crc32 = 0; // of the payload, then the scales
    SquaredError error;
};

// Writes a tensor of the plan to its place in `trunk`. It is read in tiles of rows: an embedding table of gigabytes
// needs no more memory than a small matrix.
// Errors: those of CheckpointFiles::read(), Io, NoSpace, Unsupported (a scale overflows), Cancelled.
Result<WrittenTensor> writeTensor(const CheckpointFiles& files, const TrunkItem& item, OutputFile& trunk,
    ThreadPool& pool, ConversionProgress& progress);

} // namespace waste
