#pragma once

#include "container/tensor_inventory.h"
#include "kernels/weight_views.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace waste {

// How one dense tensor of a checkpoint is stored in the trunk (spec: container 8 and 9).
struct TrunkForm {
    kernels::WeightFormat format = kernels::WeightFormat::F32;
    std::vector<std::uint64_t> shape; // as stored; the vision tower's kernels are flattened to matrices
};

// `spec` is what the text model requires of the tensor, null if it requires nothing. `trunkBits` is 3, 4 or 8.
// The shape has at least one dimension and no zero.
TrunkForm chooseTrunkForm(
    std::string_view name, std::span<const std::uint64_t> shape, const TensorSpec* spec, std::uint32_t trunkBits);

} // namespace waste
