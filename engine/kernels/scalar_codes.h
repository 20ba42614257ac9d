#pragma once

#include "kernels/code_search.h"

namespace waste::kernels::scalar {

// The specification of the searches.
void nearestEntries(const CodeBook& book, const float* vectors, std::size_t count, std::uint8_t* entries);
void searchCodes(const CodeBooks& books, BeamWidth width, const float* vectors, std::size_t count, std::uint8_t* codes);

} // namespace waste::kernels::scalar
