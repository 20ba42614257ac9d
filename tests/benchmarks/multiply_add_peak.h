#pragma once

#include "kernels/kernel_table.h"
#include "kernels/thread_pool.h"

#include <ctime>

namespace waste::benchmark {

// Of the whole process: for what takes too long to be left alone by everything else on the machine.
template<typename Work>
double processorSeconds(Work&& work)
{
    const std::clock_t start = std::clock();
    work();
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

// 10^9 multiply-adds of f32 a second, by processor time, that the threads of the pool do together with the vectors of
// this table.
double multiplyAddPeak(const kernels::KernelTable& kernels, ThreadPool& pool);

// A register holds twice as many integers of 16 bits, or their two planes of 8, and multiplies them as often.
inline constexpr double kWordsPerFloat = 2;

} // namespace waste::benchmark
