#pragma once

#include "waste/memory_plan.h"

#include <string>

namespace waste::cli {

// The share of expert accesses that a cache of the planned size can be expected to answer, by how many tokens'
// worth of experts it holds; measured on routing traces without lookahead, which adds to it.
double expectedHitRate(const MemoryPlan& plan);
std::string expectedHitsText(const MemoryPlan& plan); // "about 45 %"

} // namespace waste::cli
