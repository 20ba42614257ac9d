#pragma once

#include "convert/squared_error.h"
#include "kernels/thread_pool.h"
#include "kernels/weight_views.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace waste {

// Columns per scale in every trunk that we write.
inline constexpr std::uint32_t kTrunkGroup = 128;

// Encodes rows of a dense matrix [rows][columns] as stored by container 7: `payload` is
// [rows][row bytes], `scales` f16 [rows][groups], empty for F32. A scale is the one with the least squared error, and
// may be negative (spec: conversion 12); codes are the nearest for it as it is stored. Returns the error of what a
// reader will decode, not finite where a weight was not or where a scale does not fit f16. Rows are independent: any
// number of threads writes the same bytes.
SquaredError encodeTrunkRows(kernels::WeightFormat format, std::span<const float> values, std::uint32_t columns,
    std::span<std::byte> payload, std::span<std::uint16_t> scales, ThreadPool& pool);

} // namespace waste
