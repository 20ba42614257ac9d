#pragma once

#include "convert/random.h"
#include "kernels/thread_pool.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace waste {

struct KmeansOptions {
    std::size_t entryCount = 256; // 64 or 256
    std::uint32_t iterations = 10;
};

// Lloyd's algorithm: a codebook [entryCount][kVectorDim] for vectors [count][kVectorDim]. It starts from
// vectors at distinct random places; an entry to which nothing is assigned keeps its value, and entries
// beyond the number of vectors stay zero (spec: conversion 3).
//
// Sums run in f64 over fixed tiles and are added in the order of the tiles, so the result does not depend
// on the number of threads.
std::vector<float> fitCodebook(
    std::span<const float> vectors, const KmeansOptions& options, Random random, ThreadPool& pool);

} // namespace waste
