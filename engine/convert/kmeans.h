#pragma once

#include "convert/random.h"
#include "convert/stop_check.h"
#include "kernels/kernel_table.h"
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

// Lloyd's algorithm: a codebook [entryCount][kVectorDim] for vectors [count][kVectorDim]. It starts from vectors that
// are drawn with the square of their distance from those drawn before (k-means++); an entry to which nothing is
// assigned becomes the neighbour of the one with the most. Entries beyond the number of distinct vectors stay zero.
//
// Sums run in f64 over fixed tiles and are added in the order of the tiles, so the result does not depend
// on the number of threads. `stopped` is asked before every iteration.
std::vector<float> fitCodebook(std::span<const float> vectors, const KmeansOptions& options, Random random,
    const kernels::KernelTable& kernels, ThreadPool& pool, const StopCheck& stopped = {});

} // namespace waste
