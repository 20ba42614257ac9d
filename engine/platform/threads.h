#pragma once

#include "waste/result.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace waste {

// CPUs that this process may use.
std::uint32_t logicalCpuCount();
// Cores behind them; two hardware threads of one core count once. The default number of compute threads.
std::uint32_t physicalCoreCount();

// Whether threads of this process may be bound to all of these; the message names the first that is not there
// (on Linux also one that is forbidden here), and those that are. Errors: InvalidArgument, Unsupported (macOS).
Status checkCpus(std::span<const std::uint32_t> cpus);

// Binds the calling thread. Errors: InvalidArgument (no such CPU), Unsupported (macOS).
Status bindCurrentThread(std::span<const std::uint32_t> cpus);

// As seen in debuggers and `top`; cut to what the system keeps (15 bytes on Linux).
void nameCurrentThread(std::string_view name);

// For a thread that has little to do and is waited for: it runs as soon as it is woken, also where every core computes.
void wakeCurrentThreadPromptly();

// For work that nobody waits for.
void lowerCurrentThreadPriority();

} // namespace waste
