#pragma once

#include "convert/conversion_progress.h"
#include "waste/result.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>

namespace waste {

// A drive that fills up while a conversion works makes it wait, not fail: nobody starts hours of work anew for
// a few gigabytes that are deleted in the meantime (spec: conversion 9). The wait is told (ConvertWaiting), looks
// again once a second and can be cancelled.

// Returns when the drive of `target` has room for `bytes`. Errors: Cancelled, Io.
Status waitForRoom(const std::filesystem::path& target, std::uint64_t bytes, const ConversionProgress& progress);

// Calls `write`, and after a wait again as long as it fails for want of space. `bytes` is what it still needs. Where
// flushing or closing failed, nobody knows what the drive has kept: then `write` makes the whole thing again. Errors:
// those of `write` but NoSpace, Cancelled, Io.
Status writePatiently(const std::filesystem::path& target, std::uint64_t bytes, const ConversionProgress& progress,
    const std::function<Status()>& write);

// Sleeps for `time`, and returns early with Cancelled.
Status pause(std::chrono::milliseconds time, const ConversionProgress& progress);

} // namespace waste
