#pragma once

#include "kernels/thread_pool.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace waste {

// Moves all entries of all stages to where, for these codes, Σ ‖x − Σ_s c_s‖² is least (spec: conversion 12, E).
//
// `codes` [vectors][stages] of `vectors` [][kVectorDim]; `codebooks` [stages][entries][kVectorDim]. How often which
// entries meet is counted once; what remains is a small linear system, solved by going round the stages from the
// entries as they are. An entry that no code uses stays as it is. The result does not depend on the number of
// threads.
void refitJointly(std::span<const float> vectors, std::span<const std::uint8_t> codes, std::size_t stages,
    std::span<float> codebooks, ThreadPool& pool);

} // namespace waste
