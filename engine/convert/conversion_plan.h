#pragma once

#include "checkpoint/checkpoint_files.h"
#include "container/manifest.h"
#include "convert/vq_recipe.h"
#include "kernels/kernel_table.h"
#include "waste/converter.h"
#include "waste/result.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace waste {

// A dense tensor, and where its stored form goes.
struct TrunkItem {
    const CheckpointTensor* source = nullptr;
    TrunkEntry entry;
};

// Everything about a conversion that follows from the checkpoint's headers and the options, before a weight
// is read: where every byte of the container will lie.
struct ConversionPlan {
    nlohmann::json manifestConfig; // of composeConfig()
    ModelConfig config;
    ExpertQuant quant;
    ExpertGeometry geometry; // empty without experts
    std::vector<BankEntry> banks; // ascending by layer; codebook bases in that order from 0
    std::vector<TrunkItem> trunk; // ascending by name
    std::uint64_t trunkFileBytes = 0; // with gaps
    VqRecipe vq;
    const kernels::KernelTable* kernels = nullptr; // who searches; all tables give the same bytes
    std::uint64_t seed = 0;
    // How the bytes come about and from what: two conversions with the same text write the same container.
    std::string recipe;
    std::string source; // the part of it that tells these weights from others

    [[nodiscard]] std::uint64_t bankBytes() const; // of all banks
    [[nodiscard]] std::uint64_t codebooksBytes() const;
    [[nodiscard]] std::uint64_t trunkBytes() const; // payloads and scales, without the gaps between them
    [[nodiscard]] std::uint64_t containerBytes() const { return bankBytes() + codebooksBytes() + trunkFileBytes; }
};

// Refuses a checkpoint of which a tensor is missing, has another shape than the configuration asks for, or
// belongs to nothing. `files` outlives the plan. `source` tells the weights from others where that is known already;
// else it is computed from them. Errors: Corrupt, Unsupported, Io; they name the tensor.
Result<ConversionPlan> planConversion(
    const CheckpointFiles& files, const ConvertOptions& options, const std::string& source = {});

// ConversionPlan::recipe, and the two parts of such a text, which may come from a file: how ("VQ4P default, trunk 4
// bits, version 4") and from which source. Empty: none.
std::string recipeText(const ConvertOptions& options, std::string_view source);
std::string settingsOfRecipe(std::string_view recipe);
std::string sourceOfRecipe(std::string_view recipe);

ExpertQuant expertQuantOf(ExpertFormat format);

} // namespace waste
