#pragma once

#include "bench_models.h"
#include "benchmark.h"

namespace waste::benchmark {

// The lines of whole models.
void measureDecode(Table& table, BenchModels& models);
void measureLongContext(Table& table, const MemoryBandwidth& memory, BenchModels& models);
void measureOpening(Table& table, BenchModels& models);

} // namespace waste::benchmark
