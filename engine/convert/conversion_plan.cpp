#include "convert/conversion_plan.h"

#include "base/checked.h"
#include "checkpoint/tensor_names.h"
#include "container/format.h"
#include "container/tensor_inventory.h"
#include "convert/trunk_encoder.h"
#include "convert/trunk_rule.h"
#include "kernels/kernels.h"
#include "platform/path_text.h"
#include "platform/sha.h"

#include <algorithm>
#include <map>
#include <utility>

namespace waste {
namespace {

using kernels::WeightFormat;

// Changes whenever the same weights and options would give other bytes than before.
constexpr std::string_view kRecipeVersion = "4";
constexpr std::string_view kRecipeSource = ", source ";
constexpr std::uint64_t kSeed = 1234;
constexpr std::size_t kTrunkDimensionsMax = 4;
constexpr std::uint64_t kTrunkDimensionMax = std::uint64_t{1} << 26;

Error refuse(ErrorCode code, const std::string& tensor, const std::string& what)
{
    return {code, "", "tensor \"" + tensor + "\" " + what};
}

Error missing(const std::string& tensor)
{
    return refuse(ErrorCode::Corrupt, tensor, "is missing; download the checkpoint completely");
}

std::string shapeText(std::span<const std::uint64_t> shape)
{
    std::string text = "[";
    for (const std::uint64_t dimension : shape)
        text += (text.size() > 1 ? ", " : "") + std::to_string(dimension);
    return text + "]";
}

Status checkExpert(const CheckpointFiles& files, const std::string& name, std::uint64_t rows, std::uint64_t columns)
{
    const CheckpointTensor* tensor = files.find(name);
    if (tensor == nullptr)
        return missing(name);
    if (tensor->shape != std::vector{rows, columns})
        return refuse(ErrorCode::Corrupt, name,
            "has the shape " + shapeText(tensor->shape) + " instead of " + shapeText(std::vector{rows, columns}));
    if (!tensor->isReadable())
        return refuse(ErrorCode::Unsupported, name, "has the type " + std::string(tensorTypeName(tensor->type)));
    return {};
}

Status checkExperts(const CheckpointFiles& files, const ConversionPlan& plan)
{
    std::size_t expected = 0;
    for (const BankEntry& bank : plan.banks) {
        for (std::uint32_t expert = 0; expert < bank.expertCount; ++expert) {
            for (const ExpertMatrix matrix : kExpertMatrices) {
                const ExpertGeometry::Matrix& size = plan.geometry.matrices[static_cast<std::size_t>(matrix)];
                const std::string name = expertTensorName(plan.config.tensorPrefix, {bank.layer, expert, matrix});
                WASTE_TRY_STATUS(checkExpert(files, name, size.rows, size.columns));
                ++expected;
            }
        }
    }
    // More than these: then a weight would be left out without a word.
    const auto present = static_cast<std::size_t>(
        std::ranges::count_if(files.tensors(), [](const CheckpointTensor& t) { return isExpertTensor(t.name); }));
    if (present == expected)
        return {};
    for (const CheckpointTensor& tensor : files.tensors()) {
        const auto name = parseExpertTensorName(tensor.name, plan.config.tensorPrefix);
        const bool isKnown = name && name->layer < plan.config.layerCount && plan.config.isMoe(name->layer)
            && name->expert < plan.config.expertCount;
        if (isExpertTensor(tensor.name) && !isKnown)
            return refuse(ErrorCode::Unsupported, tensor.name, "belongs to no expert of this configuration");
    }
    return {};
}

// Some readers of the format take the bytes between the quotes as they are (spec: container 2.3).
bool isStorableName(std::string_view name)
{
    return name.size() <= Manifest::kTensorNameBytesMax
        && std::ranges::all_of(name, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

Result<TrunkItem> planTensor(const CheckpointTensor& tensor, const TensorSpec* spec, std::uint32_t trunkBits)
{
    if (spec != nullptr && !spec->accepts(tensor.shape))
        return refuse(ErrorCode::Corrupt, tensor.name,
            "has the shape " + shapeText(tensor.shape) + " instead of " + spec->describe());
    if (!tensor.isReadable())
        return refuse(ErrorCode::Unsupported, tensor.name, "has the type " + std::string(tensorTypeName(tensor.type)));
    if (!isStorableName(tensor.name))
        return refuse(ErrorCode::Unsupported, tensor.name, "has a name that a container cannot hold");

    const std::vector<std::uint64_t> shape = tensor.shape.empty() ? std::vector<std::uint64_t>{1} : tensor.shape;
    if (std::ranges::find(shape, 0U) != shape.end())
        return refuse(ErrorCode::Corrupt, tensor.name, "is empty");
    TrunkForm form = chooseTrunkForm(tensor.name, shape, spec, trunkBits);
    TrunkItem item;
    item.source = &tensor;
    item.entry.name = tensor.name;
    item.entry.format = form.format;
    item.entry.shape = std::move(form.shape);
    item.entry.group = form.format == WeightFormat::F32 ? 0 : kTrunkGroup;
    const bool fits =
        item.entry.shape.size() <= kTrunkDimensionsMax && std::ranges::max(item.entry.shape) <= kTrunkDimensionMax;
    const auto layout = fits ? TrunkLayout::compute(form.format, item.entry.shape, item.entry.group) : std::nullopt;
    if (!layout)
        return refuse(ErrorCode::Unsupported, tensor.name, "has a shape that a container cannot hold");
    item.entry.layout = *layout;
    return item;
}

// Payloads and scales begin on a page, so that a trunk can be read directly or mapped (spec: container 7).
void placeTrunk(ConversionPlan& plan)
{
    std::uint64_t end = 0;
    for (TrunkItem& item : plan.trunk) {
        item.entry.offset = roundUp(end, kPageBytes);
        end = item.entry.offset + item.entry.layout.payloadBytes;
        if (item.entry.layout.scaleBytes > 0) {
            item.entry.scaleOffset = roundUp(end, kPageBytes);
            end = item.entry.scaleOffset + item.entry.layout.scaleBytes;
        }
    }
    plan.trunkFileBytes = end;
}

Status planTrunk(const CheckpointFiles& files, std::uint32_t trunkBits, ConversionPlan& plan)
{
    const std::vector<TensorSpec> required = requiredTensors(plan.config);
    std::map<std::string_view, const TensorSpec*> specs;
    for (const TensorSpec& spec : required) {
        if (!spec.optional && files.find(spec.name) == nullptr)
            return missing(spec.name);
        specs.emplace(spec.name, &spec);
    }
    for (const CheckpointTensor& tensor : files.tensors()) {
        if (isExpertTensor(tensor.name))
            continue;
        const auto spec = specs.find(tensor.name);
        WASTE_TRY(TrunkItem item, planTensor(tensor, spec == specs.end() ? nullptr : spec->second, trunkBits));
        plan.trunk.push_back(std::move(item));
    }
    placeTrunk(plan);
    return {};
}

void planBanks(ConversionPlan& plan)
{
    for (std::uint32_t layer = 0; layer < plan.config.layerCount; ++layer) {
        if (!plan.config.isMoe(layer))
            continue;
        const auto index = static_cast<std::uint32_t>(plan.banks.size());
        plan.banks.push_back({.layer = layer,
            .file = bankFileName(layer),
            .expertCount = plan.config.expertCount,
            .bytes = plan.geometry.strideBytes * plan.config.expertCount,
            .codebookBase = index * plan.quant.codebooksPerLayer()});
    }
}

void hash(Sha256& digest, std::string_view text)
{
    const std::uint64_t length = text.size();
    digest.update(std::as_bytes(std::span(&length, 1)));
    digest.update(std::as_bytes(std::span(text)));
}

// What tells these weights from others without reading all of them: the configuration, how every tensor is
// stored, and the values of all norms, which no two trainings share.
Result<std::string> fingerprint(const CheckpointFiles& files)
{
    Sha256 digest;
    hash(digest, files.config().dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
    for (const CheckpointTensor& tensor : files.tensors()) {
        hash(digest, tensor.name);
        hash(digest, std::string(tensorTypeName(tensor.type)) + shapeText(tensor.shape));
        if (!tensor.name.ends_with("norm.weight") || tensor.shape.size() != 1 || !tensor.isReadable())
            continue;
        std::vector<float> values(tensor.elements());
        WASTE_TRY_STATUS(files.read(tensor, 0, values));
        digest.update(std::as_bytes(std::span(values)));
    }
    constexpr std::size_t kDigits = 16;
    return hexText(digest.finish()).substr(0, kDigits);
}

} // namespace

ExpertQuant expertQuantOf(ExpertFormat format)
{
    switch (format) {
    case ExpertFormat::Vq4p:
        return {.stages = 4, .entries = 64, .indexBits = 6};
    case ExpertFormat::Vq2r:
        return {.stages = 2};
    case ExpertFormat::Vq3r:
        break;
    }
    return {};
}

std::uint64_t ConversionPlan::bankBytes() const
{
    std::uint64_t sum = 0;
    for (const BankEntry& bank : banks)
        sum += bank.bytes;
    return sum;
}

std::uint64_t ConversionPlan::codebooksBytes() const
{
    return banks.size() * quant.codebooksPerLayer() * quant.codebookRecordBytes();
}

std::uint64_t ConversionPlan::trunkBytes() const
{
    std::uint64_t sum = 0;
    for (const TrunkItem& item : trunk)
        sum += item.entry.layout.bytes();
    return sum;
}

Result<ConversionPlan> planConversion(
    const CheckpointFiles& files, const ConvertOptions& options, const std::string& source)
{
    if (options.trunkBits != 3 && options.trunkBits != 4 && options.trunkBits != 8)
        return Error{ErrorCode::InvalidArgument, "", "the trunk can be stored with 3, 4 or 8 bits"};
    const std::string configFile = textFromPath(files.directory() / "config.json");
    ConversionPlan plan;
    WASTE_TRY(plan.config, ModelConfig::parse(files.config(), ModelConfig::Origin::Checkpoint, configFile));
    plan.manifestConfig = composeConfig(files.config());
    plan.quant = expertQuantOf(options.expertFormat);
    plan.vq = recipeOf(options.quality, options.expertFormat);
    WASTE_TRY(plan.kernels, kernels::selectKernels());
    plan.seed = kSeed;
    if (plan.config.moeLayerCount() > 0) {
        WASTE_TRY(plan.geometry,
            ExpertGeometry::compute(plan.config.expertWidth, plan.config.expertInputWidth(), plan.quant, configFile));
        planBanks(plan);
    }
    WASTE_TRY_STATUS(planTrunk(files, options.trunkBits, plan));
    WASTE_TRY_STATUS(checkExperts(files, plan));
    plan.source = source;
    if (source.empty()) {
        WASTE_TRY(plan.source, fingerprint(files));
    }
    plan.recipe = recipeText(options, plan.source);
    return plan;
}

std::string recipeText(const ConvertOptions& options, std::string_view source)
{
    const VqRecipe vq = recipeOf(options.quality, options.expertFormat);
    return std::string(expertQuantOf(options.expertFormat).name()) + " " + std::string(vq.name) + ", trunk "
        + std::to_string(options.trunkBits) + " bits, version " + std::string(kRecipeVersion)
        + std::string(kRecipeSource) + std::string(source);
}

std::string settingsOfRecipe(std::string_view recipe)
{
    constexpr std::size_t kBytesMax = 100; // of what is told to a user
    const std::string_view settings = recipe.substr(0, recipe.rfind(kRecipeSource));
    const bool isReadable = settings.size() < recipe.size() && settings.size() <= kBytesMax
        && std::ranges::all_of(settings, [](char c) { return c >= ' ' && c <= '~'; });
    return isReadable ? std::string(settings) : std::string();
}

std::string sourceOfRecipe(std::string_view recipe)
{
    const std::size_t mark = recipe.rfind(kRecipeSource);
    return mark != std::string_view::npos ? std::string(recipe.substr(mark + kRecipeSource.size())) : std::string();
}

} // namespace waste
