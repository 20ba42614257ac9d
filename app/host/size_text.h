#pragma once

#include "waste/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace waste::host {

// A size as people write it: a decimal number and K, M, G or T (powers of 1024), with or without "B" or
// "iB" behind it, in any case; a number alone is bytes. "46G", "1.5TiB", "4096".
Result<std::uint64_t> parseSize(std::string_view text);

// "46.24 GiB" from 1 GiB on, else whole "355 MiB" (spec: cli A.3 with the units of B.2).
std::string formatSize(std::uint64_t bytes);

// The same with one decimal and a unit that suits small amounts too: "10.5 GiB", "1.3 MiB", "96.0 KiB", "12 B".
std::string formatAmount(double bytes);

} // namespace waste::host
