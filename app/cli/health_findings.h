#pragma once

#include "waste/build_info.h"
#include "waste/container.h"
#include "waste/machine_facts.h"
#include "waste/memory_plan.h"

#include <cstdint>
#include <string>
#include <vector>

namespace waste::cli {

// One thing that `waste doctor` has to say, in plain words.
struct Finding {
    enum class Level : std::uint8_t { Good, Advice, Problem };
    Level level = Level::Good;
    std::string topic; // a stable word
    std::string text;
};

// What the facts mean for somebody who wants to run large models here.
std::vector<Finding> findingsOf(const MachineFacts& machine, const BuildInfo& build);
std::vector<Finding> findingsOf(const DriveFacts& drive);
// Whether this model fits this machine, and what it will be like.
std::vector<Finding> findingsOf(const Container& container, const MemoryPlan& plan, const MachineFacts& machine);
// For --lock-trunk with a trunk that is larger than what may be locked.
Finding trunkLockFinding(const MemoryPlan& plan, const MachineFacts& machine);

} // namespace waste::cli
