#pragma once

#include "kernels/code_search.h"
#include "waste/converter.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace waste {

// How much work goes into the codes of experts. Readers cannot tell: bytes and formats are the same.
struct VqRecipe {
    std::string_view name;
    kernels::BeamWidth width = kernels::BeamWidth::Sixteen; // of the search, while fitting and while encoding
    std::uint32_t refitRounds = 0; // of all stages' codebooks together
    std::size_t sampledVectorsMax = 0; // that codebooks are fitted to
};

// Errors of these recipes, and what else was tried: README.md of this folder.
VqRecipe recipeOf(ConvertQuality quality, ExpertFormat format);

} // namespace waste
