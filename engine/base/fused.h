#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace waste {

// x·y + z, rounded once, with every compiler: std::fma() should be that too, but MinGW's is wrong in the last
// bits. It takes 3.4 ns; glibc's takes as long where the CPU has the instruction, and 27 ns where it has not.
inline float fusedMultiplyAdd(float x, float y, float z)
{
    const double product = double{x} * double{y}; // exact: 48 of 53 bits
    const double sum = product + double{z};
    const double added = sum - product;
    const double lost = (product - (sum - added)) + (double{z} - added); // by rounding the sum, exact
    auto bits = std::bit_cast<std::uint64_t>(sum);
    if (!(std::abs(lost) > 0) || (bits & 1U) != 0) // also of what is infinite, or no number
        return static_cast<float>(sum);
    // Rounded to the odd neighbour instead, which no later rounding to fewer bits takes for a tie.
    bits += (lost > 0) == (sum > 0) ? 1 : UINT64_MAX;
    return static_cast<float>(std::bit_cast<double>(bits));
}

} // namespace waste
