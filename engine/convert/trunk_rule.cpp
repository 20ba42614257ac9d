#include "convert/trunk_rule.h"

#include "checkpoint/safetensors.h"

#include <algorithm>
#include <utility>

namespace waste {
namespace {

using kernels::WeightFormat;

// Smaller matrices are not worth an error: all of them together are a fraction of the trunk.
constexpr std::uint64_t kQuantisedElementsMin = 65536;

bool isVision(std::string_view name)
{
    return name.starts_with("vision_tower.") || name.starts_with("mm_projector.");
}

std::vector<std::uint64_t> flattened(std::string_view name, std::span<const std::uint64_t> shape)
{
    if (shape.size() <= 2)
        return {shape.begin(), shape.end()};
    // Positions are rows of features; a kernel is one row of inputs per output.
    if (name.ends_with("pos_emb.weight"))
        return {elementCount(shape.first(shape.size() - 1)), shape.back()};
    return {shape.front(), elementCount(shape.subspan(1))};
}

WeightFormat formatOfBits(std::uint32_t bits)
{
    return bits == 8 ? WeightFormat::Q8G : bits == 4 ? WeightFormat::Q4G : WeightFormat::Q3G;
}

} // namespace

TrunkForm chooseTrunkForm(
    std::string_view name, std::span<const std::uint64_t> shape, const TensorSpec* spec, std::uint32_t trunkBits)
{
    const bool isVector = shape.size() == 1;
    if (isVision(name))
        return {isVector ? WeightFormat::F32 : WeightFormat::Q8G, flattened(name, shape)};

    TrunkForm form = {WeightFormat::F32, {shape.begin(), shape.end()}};
    const bool isPinned = spec != nullptr && spec->f32Only;
    if (isVector || isPinned || elementCount(shape) < kQuantisedElementsMin)
        return form;
    // Every token passes through the first two; a router that is off by little chooses other experts.
    const bool needsEightBits = name.ends_with("embed_tokens.weight") || name.ends_with("lm_head.weight")
        || name.ends_with("block_sparse_moe.gate.weight");
    form.format = needsEightBits ? WeightFormat::Q8G : formatOfBits(trunkBits);
    return form;
}

} // namespace waste
