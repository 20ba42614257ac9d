#pragma once

#include "waste/result.h"

#include <cstdint>
#include <filesystem>

namespace waste::test {

// Makes of a saved state one that stands at a later position, as if its tokens had been read over and over: its ids
// and latent rows are repeated, the states of fixed size stay. The numbers mean nothing, but computing with them
// takes what it takes at that position, and reading tens of thousands of tokens would take minutes.
Status lengthenState(const std::filesystem::path& saved, std::uint64_t position, const std::filesystem::path& longer);

} // namespace waste::test
