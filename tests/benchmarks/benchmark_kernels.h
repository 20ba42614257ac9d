#pragma once

#include "benchmark.h"
#include "kernels/kernel_table.h"

namespace waste::benchmark {

// What the lines of single kernels have in common.
struct KernelRun {
    Table& table;
    const kernels::KernelTable& kernels;
    MemoryBandwidth memory;
    double multiplyAdds = 0; // 10^9 of f32 a second on one core
};

void measureTrunk(const KernelRun& run);
void measureExperts(const KernelRun& run);
void measureLayers(const KernelRun& run);

// Of what `--exact` computes with, over the plain way to do the same.
inline constexpr double kExactGoal = 2;

} // namespace waste::benchmark
