#pragma once

#include "checkpoint/checkpoint_files.h"
#include "convert/bank_writer.h"
#include "convert/conversion_plan.h"
#include "convert/conversion_progress.h"
#include "waste/result.h"

#include <filesystem>

namespace waste {

// Reads experts of a bank back from the device, decodes them as a reader would, and compares them with their source:
// the largest relative error of a matrix. Up to 16 experts, evenly drawn. The proof that conversion and drive work,
// before the source is deleted (spec: download 9.3, R2). Errors: Io, those of CheckpointFiles::read(), Cancelled.
Result<double> probeBank(const CheckpointFiles& files, const ConversionPlan& plan, const BankEntry& bank,
    const FinishedLayer& layer, const std::filesystem::path& file, const ConversionProgress& progress);

} // namespace waste
