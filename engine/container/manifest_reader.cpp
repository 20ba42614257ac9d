#include "container/manifest.h"

#include "container/error_reasons.h"
#include "container/json_values.h"
#include "container/part_file.h"
#include "container/tensor_inventory.h"

#include <algorithm>
#include <limits>

namespace waste {

namespace {

constexpr std::uint64_t kDimensionMax = std::uint64_t{1} << 26;
constexpr std::size_t kDimensionsMax = 4;
constexpr std::uint32_t kDefaultGroup = 128;
constexpr std::uint64_t kGroupMax = std::uint64_t{1} << 31;

std::string place(std::string_view where)
{
    return std::string(kManifestFile) + ": " + std::string(where);
}

// Reads members of one object of the manifest. `where` names the object in messages.
struct Members {
    const nlohmann::json& object;
    std::string where;
    std::string_view reason;

    [[nodiscard]] Error error(std::string_view rule) const
    {
        return reason::corrupt(reason, where + ": " + std::string(rule) + ".");
    }

    [[nodiscard]] Result<std::uint64_t> integer(std::string_view key, std::uint64_t low, std::uint64_t high,
        std::optional<std::uint64_t> absent = std::nullopt) const
    {
        const nlohmann::json* value = member(object, key);
        if (value == nullptr && absent)
            return *absent;
        const auto number = value == nullptr ? std::nullopt : asInteger(*value);
        if (number && *number >= 0 && static_cast<std::uint64_t>(*number) >= low
            && static_cast<std::uint64_t>(*number) <= high)
            return static_cast<std::uint64_t>(*number);
        return error(std::string(key) + " must be a whole number from " + std::to_string(low)
            + (high < std::numeric_limits<std::int64_t>::max() ? " to " + std::to_string(high) : " on"));
    }

    [[nodiscard]] Result<std::string> text(std::string_view key, std::size_t bytesMax) const
    {
        const nlohmann::json* value = member(object, key);
        if (value == nullptr || !value->is_string())
            return error(std::string(key) + " must be a string");
        auto content = value->get<std::string>();
        if (content.size() > bytesMax)
            return error(std::string(key) + " is longer than " + std::to_string(bytesMax) + " bytes");
        return content;
    }

    [[nodiscard]] Result<std::optional<std::uint32_t>> checksum(std::string_view key) const
    {
        if (member(object, key) == nullptr)
            return std::optional<std::uint32_t>();
        WASTE_TRY(const std::uint64_t value, integer(key, 0, std::numeric_limits<std::uint32_t>::max()));
        return std::optional(static_cast<std::uint32_t>(value));
    }
};

Status checkVersion(const nlohmann::json& root)
{
    const nlohmann::json* value = member(root, "format_version");
    const auto version = value == nullptr ? std::nullopt : asInteger(*value);
    if (!version)
        return reason::corrupt(reason::kManifest,
            place("no container version: format_version is missing or not a number. The file may not be a "
                  "container's manifest."));
    if (*version != kFormatVersion)
        return reason::unsupported(reason::kContainerVersion,
            place("container version " + std::to_string(*version)
                + " is not supported, only version 0. A newer program may read it."));
    return {};
}

Result<ModelConfig> readConfig(const nlohmann::json& root)
{
    const Members members{root, std::string(kManifestFile), reason::kManifest};
    const nlohmann::json* config = member(root, "config");
    if (config == nullptr)
        return members.error("config is missing");
    if (member(root, "tensor_prefix") == nullptr)
        return ModelConfig::parse(*config, ModelConfig::Origin::Container, kManifestFile);
    WASTE_TRY(const std::string prefix, members.text("tensor_prefix", Manifest::kPrefixBytesMax));
    return ModelConfig::parse(*config, ModelConfig::Origin::Container, kManifestFile, &prefix);
}

Result<ExpertQuant> readExpertQuant(const Members& members)
{
    ExpertQuant quant;
    WASTE_TRY(const std::uint64_t stages, members.integer("stages", 1, 8, quant.stages));
    WASTE_TRY(const std::uint64_t vecDim, members.integer("vec_dim", 1, 64, quant.vecDim));
    WASTE_TRY(const std::uint64_t entries, members.integer("entries", 1, kCodebookTableRows, quant.entries));
    WASTE_TRY(const std::uint64_t bits, members.integer("index_bits", 6, 8, quant.indexBits));
    if (bits == 7 || (bits == 6 && (stages != 4 || entries != 64)))
        return members.error("index_bits must be 8, or 6 with 4 stages of 64 entries");
    quant.stages = static_cast<std::uint8_t>(stages);
    quant.vecDim = static_cast<std::uint8_t>(vecDim);
    quant.entries = static_cast<std::uint16_t>(entries);
    quant.indexBits = static_cast<std::uint8_t>(bits);

    // Some writers leave the key out and mean 64, some readers take its absence for 0: no guess is safe.
    const nlohmann::json* value = member(members.object, "index_block");
    const auto block = value == nullptr ? std::nullopt : asInteger(*value);
    if (!block || (*block != 0 && *block != kIndexBlockRows))
        return reason::unsupported(
            reason::kIndexBlock, members.where + ": index_block must be stated, as 64 or 0. Convert the model again.");
    quant.indexBlock = static_cast<std::uint8_t>(*block);
    return quant;
}

Result<BankEntry> readBank(const Members& members, std::uint32_t layer, const Manifest& manifest)
{
    BankEntry bank;
    bank.layer = layer;
    WASTE_TRY(bank.file, members.text("file", Manifest::kFileNameBytesMax));
    if (!isPlainFileName(bank.file))
        return members.error("file must be a plain file name");
    WASTE_TRY(const std::uint64_t experts, members.integer("experts", 0, std::numeric_limits<std::uint32_t>::max()));
    if (experts != manifest.config.expertCount)
        return members.error("experts is " + std::to_string(experts) + " where num_experts is "
            + std::to_string(manifest.config.expertCount));
    bank.expertCount = manifest.config.expertCount;
    WASTE_TRY(bank.bytes, members.integer("bytes", 1, std::numeric_limits<std::int64_t>::max()));
    const std::uint64_t stride = manifest.geometry.strideBytes;
    if (bank.bytes != stride * bank.expertCount) // below 2^48
        return members.error("bytes is " + std::to_string(bank.bytes) + ", but " + std::to_string(bank.expertCount)
            + " records of " + std::to_string(stride) + " bytes are " + std::to_string(stride * bank.expertCount));
    const std::uint64_t baseMax = std::numeric_limits<std::uint16_t>::max();
    WASTE_TRY(const std::uint64_t base, members.integer("codebook_base", 0, baseMax));
    bank.codebookBase = static_cast<std::uint32_t>(base);
    return bank;
}

Status readBanks(const nlohmann::json& root, Manifest& manifest)
{
    const nlohmann::json* layers = member(root, "layers");
    for (std::uint32_t layer = 0; layer < manifest.config.layerCount; ++layer) {
        if (!manifest.config.isMoe(layer))
            continue;
        const std::string where = place("layer " + std::to_string(layer));
        const nlohmann::json* entry =
            layers != nullptr && layers->is_object() ? member(*layers, std::to_string(layer)) : nullptr;
        if (entry == nullptr || !entry->is_object())
            return reason::corrupt(reason::kLayer, where + " has no entry in layers.");
        WASTE_TRY(BankEntry bank, readBank({*entry, where, reason::kLayer}, layer, manifest));
        manifest.banks.push_back(std::move(bank));
    }
    return {};
}

std::optional<kernels::WeightFormat> weightFormat(std::uint64_t number)
{
    using kernels::WeightFormat;
    for (const WeightFormat format : {WeightFormat::F32, WeightFormat::Q8G, WeightFormat::Q4G, WeightFormat::Q3G})
        if (number == static_cast<std::uint64_t>(format))
            return format;
    return std::nullopt;
}

Status readShape(const Members& members, std::vector<std::uint64_t>& shape)
{
    const nlohmann::json* list = member(members.object, "shape");
    if (list == nullptr || !list->is_array() || list->empty() || list->size() > kDimensionsMax)
        return members.error("shape must be a list of 1 to 4 dimensions");
    for (const nlohmann::json& dimension : *list) {
        const auto number = asInteger(dimension);
        if (!number || *number < 1 || static_cast<std::uint64_t>(*number) > kDimensionMax)
            return members.error("every dimension of shape must be from 1 to 2^26");
        shape.push_back(static_cast<std::uint64_t>(*number));
    }
    return {};
}

Result<TrunkEntry> readTensor(const nlohmann::json& object, std::size_t index)
{
    Members members{object, place("trunk[" + std::to_string(index) + "]"), reason::kTensor};
    if (!object.is_object())
        return members.error("must be an object");
    TrunkEntry entry;
    WASTE_TRY(entry.name, members.text("name", Manifest::kTensorNameBytesMax));
    members.where = place("tensor " + entry.name);
    WASTE_TRY(const std::uint64_t number, members.integer("fmt", 0, std::numeric_limits<std::uint32_t>::max()));
    entry.format = weightFormat(number);
    if (!entry.format)
        return entry;

    WASTE_TRY_STATUS(readShape(members, entry.shape));
    const std::uint64_t offsetMax = std::numeric_limits<std::int64_t>::max();
    WASTE_TRY(entry.offset, members.integer("off", 0, offsetMax));
    if (*entry.format != kernels::WeightFormat::F32) {
        WASTE_TRY(const std::uint64_t group, members.integer("group", 1, kGroupMax, kDefaultGroup));
        if (*entry.format == kernels::WeightFormat::Q4G && group % 2 != 0)
            return members.error("group must be even for Q4G");
        entry.group = static_cast<std::uint32_t>(group);
        WASTE_TRY(entry.scaleOffset, members.integer("scale_off", 0, offsetMax, 0));
    }
    const auto layout = TrunkLayout::compute(*entry.format, entry.shape, entry.group);
    if (!layout)
        return members.error("shape is too large");
    entry.layout = *layout;
    WASTE_TRY(entry.crc32, members.checksum("crc32"));
    return entry;
}

Status readTrunk(const nlohmann::json& root, Manifest& manifest)
{
    const nlohmann::json* trunk = member(root, "trunk");
    if (trunk == nullptr || !trunk->is_array())
        return reason::corrupt(reason::kManifest, place("trunk must be a list of tensors."));
    for (std::size_t i = 0; i < trunk->size(); ++i) {
        WASTE_TRY(TrunkEntry entry, readTensor((*trunk)[i], i));
        manifest.trunk.push_back(std::move(entry));
    }
    std::sort(manifest.trunk.begin(), manifest.trunk.end(),
        [](const TrunkEntry& a, const TrunkEntry& b) { return a.name < b.name; });
    const auto twice = std::adjacent_find(manifest.trunk.begin(), manifest.trunk.end(),
        [](const TrunkEntry& a, const TrunkEntry& b) { return a.name == b.name; });
    if (twice != manifest.trunk.end())
        return reason::corrupt(reason::kTensor, place("tensor " + twice->name + " is listed twice."));
    return {};
}

Status checkTensors(const Manifest& manifest)
{
    for (const TensorSpec& spec : requiredTensors(manifest.config)) {
        const TrunkEntry* entry = manifest.find(spec.name);
        const std::string where = place("tensor " + spec.name);
        if (entry == nullptr) {
            if (spec.optional)
                continue;
            return reason::corrupt(reason::kTensor, where + " is missing. Convert or download the model again.");
        }
        if (!entry->format)
            return reason::unsupported(
                reason::kTensorFormat, where + " is stored in a format that this program does not know.");
        if (spec.f32Only && *entry->format != kernels::WeightFormat::F32)
            return reason::corrupt(
                reason::kTensor, where + " is stored as " + std::string(formatName(*entry->format)) + ", must be F32.");
        if (!spec.accepts(entry->shape)) {
            std::string shape;
            for (const std::uint64_t dimension : entry->shape)
                shape += (shape.empty() ? "" : ", ") + std::to_string(dimension);
            return reason::corrupt(
                reason::kTensor, where + " has the shape [" + shape + "], the model needs " + spec.describe() + ".");
        }
    }
    return {};
}

// Only told, never relied on: what is not as expected is left out.
DesktopMetadata readDesktop(const nlohmann::json& root, std::uint32_t layerCount)
{
    static const nlohmann::json kNoMembers = nlohmann::json::object();
    const auto object = [](const nlohmann::json& parent, std::string_view key) -> const nlohmann::json& {
        const nlohmann::json* value = member(parent, key);
        return value != nullptr && value->is_object() ? *value : kNoMembers;
    };
    const auto text = [](const nlohmann::json& parent, std::string_view key) {
        const nlohmann::json* value = member(parent, key);
        return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
    };
    const nlohmann::json& desktop = object(root, "x_desktop");
    DesktopMetadata metadata;
    metadata.converter = text(desktop, "converter");
    metadata.created = text(desktop, "created");
    metadata.sourceRepository = text(object(desktop, "source"), "repo");
    metadata.sourceRevision = text(object(desktop, "source"), "revision");
    metadata.recipe = text(object(desktop, "quant"), "recipe");
    if (const nlohmann::json* seed = member(object(desktop, "quant"), "seed"))
        if (seed->is_number_unsigned())
            metadata.seed = seed->get<std::uint64_t>();
    const nlohmann::json& errors = object(desktop, "errors");
    for (std::uint32_t layer = 0; layer < layerCount; ++layer) {
        const nlohmann::json& entry = object(errors, std::to_string(layer));
        for (std::size_t k = 0; k < kExpertMatrixCount; ++k)
            if (const nlohmann::json* value = member(entry, kExpertMatrixNames[k]); value && value->is_number())
                metadata.errors[layer][k] = value->get<double>();
    }
    return metadata;
}

} // namespace

Result<Manifest> Manifest::parse(std::string_view text)
{
    if (text.size() > kBytesMax)
        return reason::corrupt(reason::kManifest, place("larger than 64 MiB."));
    WASTE_TRY(const nlohmann::json root, parseJson(text, kDepthMax, kManifestFile));
    if (!root.is_object())
        return reason::corrupt(reason::kManifest, place("must be an object."));
    WASTE_TRY_STATUS(checkVersion(root));

    Manifest manifest;
    WASTE_TRY(manifest.config, readConfig(root));
    if (manifest.config.moeLayerCount() > 0) {
        const nlohmann::json* quant = member(root, "expert_quant");
        const nlohmann::json none = nlohmann::json::object();
        const Members members{quant == nullptr ? none : *quant, place("expert_quant"), reason::kManifest};
        if (!members.object.is_object())
            return members.error("must be an object");
        WASTE_TRY(manifest.expertQuant, readExpertQuant(members));
        WASTE_TRY(manifest.codebooksCrc32, members.checksum("codebooks_crc32"));
        WASTE_TRY(manifest.geometry,
            ExpertGeometry::compute(
                manifest.config.expertWidth, manifest.config.expertInputWidth(), manifest.expertQuant, kManifestFile));
        WASTE_TRY_STATUS(readBanks(root, manifest));
    }
    WASTE_TRY_STATUS(readTrunk(root, manifest));
    WASTE_TRY_STATUS(checkTensors(manifest));
    manifest.desktop = readDesktop(root, manifest.config.layerCount);
    return manifest;
}

const TrunkEntry* Manifest::find(std::string_view tensorName) const
{
    const auto found = std::lower_bound(trunk.begin(), trunk.end(), tensorName,
        [](const TrunkEntry& entry, std::string_view name) { return entry.name < name; });
    return found != trunk.end() && found->name == tensorName ? &*found : nullptr;
}

const BankEntry* Manifest::bank(std::uint32_t layer) const
{
    const auto found =
        std::find_if(banks.begin(), banks.end(), [layer](const BankEntry& entry) { return entry.layer == layer; });
    return found == banks.end() ? nullptr : &*found;
}

} // namespace waste
