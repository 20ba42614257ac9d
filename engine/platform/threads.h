#pragma once

#include "waste/result.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace waste {

// CPUs that this process may use.
std::uint32_t logicalCpuCount();
// Cores behind them; two hardware threads of one core count once. The default number of compute threads.
std::uint32_t physicalCoreCount();

// "0-5", "0-2,6-8", "3" → ascending numbers without repetition. Blanks around numbers and "-" are allowed;
// numbers from 1024 on, reversed ranges and empty items are not (InvalidArgument). Spec: cli A.2.
Result<std::vector<std::uint32_t>> parseCpuList(std::string_view text);

// Binds the calling thread. Errors: InvalidArgument (no such CPU), Unsupported (macOS).
Status bindCurrentThread(std::span<const std::uint32_t> cpus);

// As seen in debuggers and `top`; cut to what the system keeps (15 bytes on Linux).
void nameCurrentThread(std::string_view name);

// For work that nobody waits for.
void lowerCurrentThreadPriority();

} // namespace waste
