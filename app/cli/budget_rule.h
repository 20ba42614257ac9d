#pragma once

#include "waste/memory_plan.h"

#include <string_view>

namespace waste::cli {

// Why a plan has the budget that it has: a stable word, and a few plain ones.
std::string_view nameOf(MemoryPlan::Rule rule);
std::string_view reasonForBudget(const MemoryPlan& plan);

} // namespace waste::cli
