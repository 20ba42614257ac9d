#include "session/vision_model.h"

#include "checkpoint/vision_description.h"
#include "container/trunk.h"
#include "container/trunk_loader.h"
#include "platform/path_text.h"
#include "platform/small_file.h"
#include "session/facade_guard.h"
#include "vision/image_file.h"
#include "vision/image_patches.h"
#include "vision/image_plan.h"
#include "vision/image_resize.h"
#include "vision/vision_tower.h"
#include "waste/picture.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace waste {
namespace {

constexpr std::uint64_t kVisionFileBytesMax = 1U << 20;
constexpr std::uint64_t kPicturesQueuedMax = 32; // spec: vision 4

Result<VisionConfig> describeContainer(const ContainerFiles& container, const ModelConfig& text)
{
    const std::filesystem::path& path = container.sideFiles.vision;
    if (path.empty())
        return Error{ErrorCode::Unsupported, "no_vision", "this model has no vision tower, so it cannot see pictures"};
    WASTE_TRY(const std::string content, readSmallFile(path, kVisionFileBytesMax));
    const nlohmann::json json = nlohmann::json::parse(content, nullptr, /*allow_exceptions=*/false);
    return VisionConfig::parse(json, text.hiddenSize, text.vocabularySize, textFromPath(path));
}

Result<VisionConfig> describeCheckpoint(const CheckpointFiles& checkpoint, const ModelConfig& text)
{
    std::vector<std::string> warnings;
    WASTE_TRY(const nlohmann::ordered_json vision, describeVision(checkpoint, warnings));
    if (vision.is_null())
        return Error{ErrorCode::Unsupported, "no_vision", "this model has no vision tower, so it cannot see pictures"};
    return VisionConfig::parse(
        nlohmann::json(vision), text.hiddenSize, text.vocabularySize, textFromPath(checkpoint.directory()));
}

// What the weights take once they are resident.
std::uint64_t weightBytes(const detail::ModelFiles& files, const VisionConfig& config)
{
    std::uint64_t bytes = 0;
    for (const VisionTensor& tensor : visionTensors(config)) {
        if (files.container() == nullptr) {
            bytes += roundUp<std::uint64_t>(tensor.rows * tensor.columns * sizeof(float), kArenaAlignment);
        } else if (const TrunkEntry* entry = files.container()->manifest.find(tensor.name)) {
            bytes += Trunk::residentBytes(*entry);
        }
    }
    return bytes;
}

ImagePlan planFor(const VisionConfig& config, std::uint32_t width, std::uint32_t height, PictureDetail detail)
{
    constexpr std::uint32_t kPatchBudgetMin = 4;
    const ImagePlan full = planImage(width, height, config.patchBudget(), config.patchLimitPerSide);
    if (detail == PictureDetail::Full)
        return full;
    return planImage(width, height, std::max(kPatchBudgetMin, full.patchCount() / 2), config.patchLimitPerSide);
}

} // namespace

Result<VisionConfig> VisionModel::describe(const detail::ModelFiles& files)
{
    return files.container() != nullptr ? describeContainer(*files.container(), files.config)
                                        : describeCheckpoint(*files.checkpoint(), files.config);
}

Result<std::uint64_t> VisionModel::plannedBytes(const detail::ModelFiles& files, std::uint32_t threadCount)
{
    WASTE_TRY(const VisionConfig config, describe(files));
    const std::uint64_t patches = config.patchBudget();
    const std::uint64_t rowBytes = std::uint64_t{config.textHiddenSize} * sizeof(float);
    return weightBytes(files, config) + kImageBytesMax + patches * VisionConfig::kPatchFloats * sizeof(float)
        + VisionTower::scratchBytes(config, config.patchBudget(), threadCount)
        + kPicturesQueuedMax * (patches / 4) * rowBytes;
}

std::string VisionModel::fingerprint(const detail::ModelFiles& files, const Sha256Digest& model)
{
    const auto config = describe(files);
    if (!config)
        return {};
    Sha256 sha;
    sha.update(std::as_bytes(std::span(model)));
    if (const ContainerFiles* container = files.container()) {
        const auto description = readSmallFile(container->sideFiles.vision, kVisionFileBytesMax);
        if (!description)
            return {};
        sha.update(std::as_bytes(std::span(*description)));
        for (const VisionTensor& tensor : visionTensors(*config)) {
            const TrunkEntry* entry = container->manifest.find(tensor.name);
            if (entry == nullptr || !entry->crc32)
                return {};
            sha.update(std::as_bytes(std::span(tensor.name)));
            sha.update(std::as_bytes(std::span(&*entry->crc32, 1)));
        }
    }
    return hexText(sha.finish());
}

Result<std::unique_ptr<VisionModel>> VisionModel::load(
    const Parts& parts, const ProgressSink& progress, const CancelFlag* cancel)
{
    WASTE_TRY(const VisionConfig config, describe(parts.files));
    WASTE_TRY(Arena arena, Arena::create(weightBytes(parts.files, config), "the vision tower"));
    std::unique_ptr<VisionModel> model(new VisionModel(parts, config, std::move(arena)));
    WASTE_TRY_STATUS(model->loadWeights(progress, cancel));
    return model;
}

VisionModel::VisionModel(const Parts& parts, const VisionConfig& config, Arena arena)
    : m_parts(parts)
    , m_config(config)
    , m_arena(std::move(arena))
{
}

Status VisionModel::loadWeights(const ProgressSink& progress, const CancelFlag* cancel)
{
    const auto advance = [&](std::uint64_t bytes) -> Status {
        if (progress)
            progress({"tower", bytes, m_arena.capacityBytes()});
        if (cancel != nullptr && cancel->isCancelled())
            return Error{ErrorCode::Cancelled, "", "loading the vision tower was cancelled"};
        return {};
    };
    WASTE_TRY(const Tensors tensors,
        m_parts.files.container() != nullptr ? loadFromContainer(*m_parts.files.container(), advance)
                                             : loadFromCheckpoint(*m_parts.files.checkpoint(), advance));
    const auto find = [&tensors](std::string_view name) {
        const auto found = tensors.find(std::string(name));
        return found == tensors.end() ? std::nullopt : std::optional(found->second);
    };
    WASTE_TRY(m_weights, bindVisionWeights(m_config, find, m_parts.kernels));
    return {};
}

// What is missing bindVisionWeights() names. The loader's buffers are smaller than those of pictures, for which nothing
// is taken yet: the plan holds.
Result<VisionModel::Tensors> VisionModel::loadFromContainer(const ContainerFiles& container, const Advance& advance)
{
    const auto access = m_parts.directIo ? DirectFile::Access::Direct : DirectFile::Access::Buffered;
    WASTE_TRY(TrunkLoader loader, TrunkLoader::open(container.directory, access));
    Tensors tensors;
    for (const VisionTensor& tensor : visionTensors(m_config)) {
        const TrunkEntry* entry = container.manifest.find(tensor.name);
        if (entry == nullptr)
            continue;
        const auto target = m_arena.take<std::byte>(Trunk::residentBytes(*entry), Trunk::kAlignment);
        tensors[tensor.name] = loader.add(*entry, target);
    }
    WASTE_TRY_STATUS(loader.run(advance));
    return tensors;
}

Result<VisionModel::Tensors> VisionModel::loadFromCheckpoint(const CheckpointFiles& checkpoint, const Advance& advance)
{
    Tensors tensors;
    for (const VisionTensor& tensor : visionTensors(m_config)) {
        WASTE_TRY_STATUS(advance(m_arena.usedBytes()));
        const CheckpointTensor* stored = checkpoint.find(tensor.name);
        if (stored == nullptr || stored->elements() != tensor.rows * tensor.columns)
            continue;
        const auto target = m_arena.take<float>(stored->elements());
        WASTE_TRY_STATUS(checkpoint.read(*stored, 0, target));
        kernels::MatrixView& view = tensors[tensor.name];
        view.rows = static_cast<std::uint32_t>(tensor.rows);
        view.columns = tensor.columns;
        view.rowBytes = std::uint64_t{tensor.columns} * sizeof(float);
        view.payload = reinterpret_cast<const std::byte*>(target.data());
    }
    return tensors;
}

Result<std::vector<float>> VisionModel::encode(std::span<const std::byte> file, std::string_view name,
    const ProgressSink& progress, const CancelFlag* cancel, PictureDetail detail) const
{
    WASTE_TRY(Image image, decodeImage(file, name));
    const ImagePlan plan = planFor(m_config, image.width, image.height, detail);
    const std::vector<float> patches = makePatches(std::move(image), plan, m_config);
    const VisionTower tower({m_config, m_weights, m_parts.kernels, m_parts.pool});
    return tower.encode(patches, plan, progress, cancel);
}

Result<Picture> Picture::inspect(
    const Container& container, std::span<const std::byte> file, std::string_view name, PictureDetail detail)
{
    WASTE_TRY(const VisionConfig config, VisionModel::describe(container.files()));
    WASTE_TRY(const ImageHeader header, readImageHeader(file, name));
    const ImagePlan plan = planFor(config, header.width, header.height, detail);
    return Picture{
        header.width, header.height, plan.positionCount(), VisionTower::multiplyAdds(config, plan.patchCount())};
}

Result<PicturePixels> drawPicture(
    std::span<const std::byte> file, std::string_view name, std::uint32_t sideMax, std::size_t bytesMax)
{
    return guarded([&]() -> Result<PicturePixels> {
        WASTE_TRY(Image image, decodeImage(file, name, bytesMax));
        const std::uint64_t longest = std::max({image.width, image.height, 1U});
        if (longest > sideMax) {
            const auto scaled = [&](std::uint64_t side) {
                return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, side * sideMax / longest));
            };
            const std::uint32_t width = scaled(image.width);
            const std::uint32_t height = scaled(image.height);
            image = resizeImage(std::move(image), width, height);
        }
        PicturePixels drawn{image.width, image.height, {}};
        const std::size_t channels = image.channels();
        drawn.rgba.reserve(std::size_t{4} * image.width * image.height);
        for (std::size_t at = 0; at < image.pixels.size(); at += channels) {
            drawn.rgba.insert(drawn.rgba.end(), &image.pixels[at], &image.pixels[at] + 3);
            drawn.rgba.push_back(image.hasAlpha ? image.pixels[at + 3] : 255);
        }
        return drawn;
    });
}

} // namespace waste
