#include "session/model_files.h"

#include "container/part_file.h"
#include "container/tensor_inventory.h"
#include "platform/file_error.h"
#include "platform/file_facts.h"
#include "platform/path_text.h"
#include "platform/small_file.h"
#include "session/facade_guard.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace waste {
namespace detail {
namespace {

constexpr std::uint64_t kTokenizerBytesMax = std::uint64_t{64} << 20;
constexpr std::uint64_t kConfigBytesMax = std::uint64_t{64} << 20;

std::string modelName(const std::filesystem::path& directory)
{
    std::error_code error;
    std::filesystem::path path = std::filesystem::absolute(directory, error).lexically_normal();
    if (!path.has_filename())
        path = path.parent_path(); // "models/k3.waste/"
    if (path.extension() == ".waste")
        path = path.stem();
    return textFromPath(path.filename());
}

// What `layers.{l}` and the trunk are stored in: "experts VQ3R, trunk Q4G/Q8G/F32", fewest bits first.
std::string describeFormats(const Manifest& manifest)
{
    using kernels::WeightFormat;
    std::string trunk;
    for (const WeightFormat format : {WeightFormat::Q3G, WeightFormat::Q4G, WeightFormat::Q8G, WeightFormat::F32}) {
        const bool used = std::any_of(manifest.trunk.begin(), manifest.trunk.end(),
            [format](const TrunkEntry& entry) { return entry.format == format; });
        if (used)
            trunk += (trunk.empty() ? "" : "/") + std::string(formatName(format));
    }
    if (manifest.banks.empty())
        return "trunk " + trunk;
    return "experts " + std::string(manifest.expertQuant.name()) + ", trunk " + trunk;
}

// The same of a checkpoint, in the order of this list: "published MXFP4/BF16/F32".
std::string describeTypes(const CheckpointFiles& files)
{
    const auto uses = [&files](auto predicate) {
        return std::any_of(files.tensors().begin(), files.tensors().end(), predicate);
    };
    std::string types;
    if (uses([](const CheckpointTensor& tensor) { return tensor.coding == CheckpointTensor::Coding::Mxfp4; }))
        types = "MXFP4";
    for (const TensorType type : {TensorType::Bf16, TensorType::F16, TensorType::F32}) {
        const bool used = uses([type](const CheckpointTensor& tensor) {
            return tensor.coding == CheckpointTensor::Coding::Plain && tensor.type == type;
        });
        if (used)
            types += (types.empty() ? "" : "/") + std::string(tensorTypeName(type));
    }
    return "published " + types;
}

std::uint64_t directoryBytes(const std::filesystem::path& directory)
{
    std::uint64_t bytes = 0;
    std::error_code error; // what cannot be read does not count
    for (std::filesystem::directory_iterator entry(directory, error), end; entry != end; entry.increment(error)) {
        if (entry->is_regular_file(error))
            bytes += entry->file_size(error);
    }
    return bytes;
}

ModelInfo factsOfConfig(const ModelConfig& config)
{
    const ParameterCount parameters = countParameters(config);
    ModelInfo info;
    info.architecture = config.name();
    info.layerCount = config.layerCount;
    info.moeLayerCount = config.moeLayerCount();
    info.expertCount = config.expertCount;
    info.expertsPerToken = config.expertsPerToken;
    info.hiddenSize = config.hiddenSize;
    info.vocabularySize = config.vocabularySize;
    info.contextMax = config.contextMax;
    info.parametersTotal = parameters.total;
    info.parametersActive = parameters.active;
    info.endOfTextId = config.endOfTextId;
    info.mediaPlaceholderId = config.mediaPlaceholderId;
    return info;
}

Status readTokenizerDigest(ModelFiles& model, const std::filesystem::path& file)
{
    if (file.empty())
        return {};
    WASTE_TRY(const std::string text, readSmallFile(file, kTokenizerBytesMax));
    Sha256 sha;
    sha.update(std::as_bytes(std::span(text)));
    model.tokenizerDigest = sha.finish();
    model.info.hasTokenizer = true;
    model.info.tokenizerSha256 = hexText(*model.tokenizerDigest);
    return {};
}

// In the manifest's own words, also those that this program does not know.
Result<std::string> decisiveText(const std::filesystem::path& manifestFile)
{
    WASTE_TRY(const std::string text, readSmallFile(manifestFile, Manifest::kBytesMax));
    const nlohmann::json manifest = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!manifest.is_object()) {
        return Error{ErrorCode::Corrupt, "manifest", textFromPath(manifestFile) + " changed while it was read"};
    }
    nlohmann::json layers = manifest.value("layers", nlohmann::json::object());
    for (nlohmann::json& layer : layers) {
        if (layer.is_object())
            layer.erase("file");
    }
    const nlohmann::json decisive = {
        {"config", manifest.value("config", nlohmann::json::object())},
        {"expert_quant", manifest.value("expert_quant", nlohmann::json::object())},
        {"layers", std::move(layers)},
    };
    return decisive.dump();
}

std::vector<ModelInfo::BankFolder> findBankFolders(const ContainerFiles& files)
{
    std::vector<ModelInfo::BankFolder> folders;
    for (const BankEntry& bank : files.manifest.banks) {
        const std::filesystem::path target = linkTarget(files.directory / pathFromText(bank.file));
        if (target.empty())
            continue;
        const std::string path = textFromPath(target.parent_path());
        auto folder = std::ranges::find(folders, path, &ModelInfo::BankFolder::path);
        if (folder == folders.end())
            folder = folders.insert(folders.end(), {path, 0, 0});
        ++folder->layers;
        folder->bytes += bank.bytes;
    }
    return folders;
}

Result<std::unique_ptr<ModelFiles>> openContainer(const std::filesystem::path& directory)
{
    WASTE_TRY(ContainerFiles files, ContainerFiles::open(directory));
    auto model = std::make_unique<ModelFiles>();
    const Manifest& manifest = files.manifest;
    model->config = manifest.config;
    model->info = factsOfConfig(manifest.config);
    model->info.format = ModelInfo::Format::Container;
    model->info.quantization = describeFormats(manifest);
    model->info.containerBytes = files.totalBytes;
    model->info.expertRecordBytes = manifest.geometry.strideBytes;
    model->info.bankFolders = findBankFolders(files);
    model->info.hasVision = !files.sideFiles.vision.empty();
    model->info.created = manifest.desktop.created;
    model->info.source = manifest.desktop.sourceRepository;
    WASTE_TRY(model->decisiveText, decisiveText(directory / kManifestFile));
    WASTE_TRY_STATUS(readTokenizerDigest(*model, files.sideFiles.tokenizer));
    model->files = std::move(files);
    return model;
}

Result<std::unique_ptr<ModelFiles>> openCheckpoint(const std::filesystem::path& directory)
{
    WASTE_TRY(ModelFiles::Checkpoint files, CheckpointFiles::open(directory));
    const std::string configName = textFromPath(directory / "config.json");
    WASTE_TRY(ModelConfig config, ModelConfig::parse(files->config(), ModelConfig::Origin::Checkpoint, configName));
    auto model = std::make_unique<ModelFiles>();
    model->info = factsOfConfig(config);
    model->info.format = ModelInfo::Format::Checkpoint;
    model->info.quantization = describeTypes(*files);
    model->info.containerBytes = directoryBytes(directory);
    model->info.hasVision = files->config().contains("vision_config");
    model->config = std::move(config);
    WASTE_TRY(model->decisiveText, readSmallFile(directory / "config.json", kConfigBytesMax));
    const std::string tokenizer = files->tokenizerFileName();
    WASTE_TRY_STATUS(readTokenizerDigest(*model, tokenizer.empty() ? std::filesystem::path() : directory / tokenizer));
    model->files = std::move(files);
    return model;
}

} // namespace

std::span<const std::string> ModelFiles::warnings() const
{
    if (container() != nullptr)
        return container()->warnings;
    return checkpoint()->warnings();
}

Result<std::unique_ptr<ModelFiles>> ModelFiles::open(const std::filesystem::path& directory)
{
    std::error_code error;
    const auto type = std::filesystem::status(directory, error).type();
    if (type == std::filesystem::file_type::none || type == std::filesystem::file_type::unknown)
        return fileError("open", directory, error);
    if (type != std::filesystem::file_type::directory) {
        return Error{ErrorCode::NotFound, "",
            textFromPath(directory)
                + (type == std::filesystem::file_type::not_found ? ": there is no such folder"
                                                                 : ": this is a file; a model is a folder")};
    }
    WASTE_TRY(const bool isContainer, ContainerFiles::isContainer(directory));
    if (!isContainer && std::filesystem::exists(directory / kConversionFolder, error)) {
        return Error{ErrorCode::NotFound, "",
            textFromPath(directory)
                + ": this is an unfinished conversion; start the same \"waste convert\" again, and it goes on where it "
                  "stopped"};
    }
    if (!isContainer && !CheckpointFiles::isCheckpoint(directory)) {
        return Error{ErrorCode::NotFound, "",
            textFromPath(directory)
                + ": this folder is no model; it has neither a manifest.json (a container) nor a config.json with "
                  "safetensors (a published checkpoint)"};
    }
    WASTE_TRY(std::unique_ptr<ModelFiles> model, isContainer ? openContainer(directory) : openCheckpoint(directory));
    model->directory = directory;
    model->info.name = modelName(directory);
    return model;
}

} // namespace detail

Container::Container(std::unique_ptr<detail::ModelFiles> files)
    : m_files(std::move(files))
{
}

Container::~Container() = default;

Result<std::shared_ptr<const Container>> Container::open(const std::filesystem::path& directory)
{
    return guarded([&]() -> Result<std::shared_ptr<const Container>> {
        WASTE_TRY(std::unique_ptr<detail::ModelFiles> files, detail::ModelFiles::open(directory));
        return std::shared_ptr<const Container>(new Container(std::move(files)));
    });
}

const std::filesystem::path& Container::path() const
{
    return m_files->directory;
}

const ModelInfo& Container::info() const
{
    return m_files->info;
}

const detail::ModelFiles& Container::files() const
{
    return *m_files;
}

} // namespace waste
