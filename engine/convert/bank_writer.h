#pragma once

#include "checkpoint/checkpoint_files.h"
#include "convert/conversion_plan.h"
#include "convert/conversion_progress.h"
#include "kernels/thread_pool.h"
#include "platform/output_file.h"
#include "waste/result.h"

#include <cstddef>
#include <vector>

namespace waste {

// What a converted layer leaves besides its bank.
struct FinishedLayer {
    ExpertErrors errors;
    std::vector<std::byte> codebooks; // its records of codebooks.bin
};

// Converts the experts of one layer: fits codebooks to a sample of them, then encodes one expert after the
// other and appends its record to `bank`. Needs memory for one expert as f32, whatever the model's size.
// Errors: those of CheckpointFiles::read(), Io, NoSpace, Cancelled, and Unsupported for an expert that
// these codebooks cannot hold (spec: conversion 4).
Result<FinishedLayer> writeBank(const CheckpointFiles& files, const ConversionPlan& plan, const BankEntry& entry,
    OutputFile& bank, ThreadPool& pool, ConversionProgress& progress);

} // namespace waste
