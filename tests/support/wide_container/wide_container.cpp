#include "support/wide_container/wide_container.h"

#include "base/checked.h"
#include "base/crc32.h"
#include "container/manifest.h"
#include "container/record_header.h"
#include "container/tensor_inventory.h"
#include "convert/conversion_plan.h"
#include "convert/trunk_encoder.h"
#include "convert/trunk_rule.h"
#include "platform/output_file.h"
#include "platform/path_text.h"
#include "platform/volume_space.h"
#include "support/wide_container/random_weights.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace waste::test {
namespace {

using kernels::WeightFormat;

constexpr std::uint32_t kTrunkBits = 4;
constexpr std::uint32_t kVocabularyMin = 1024;
constexpr std::size_t kPieceBytes = std::size_t{4} << 20;

// Where everything of a container will lie.
struct Layout {
    nlohmann::json manifestConfig;
    ModelConfig config;
    ExpertQuant quant;
    ExpertGeometry geometry;
    std::vector<TensorSpec> specs; // of the trunk
    std::vector<TrunkEntry> trunk; // of the same length
    std::vector<BankEntry> banks;
    std::uint64_t bytes = 0;
};

Result<TrunkEntry> placeTensor(const TensorSpec& spec, std::uint64_t& end)
{
    std::vector<std::uint64_t> shape = {spec.columns};
    if (spec.shape == TensorSpec::Shape::Matrix)
        shape = {spec.rows, spec.columns};
    TrunkForm form = chooseTrunkForm(spec.name, shape, &spec, kTrunkBits);
    TrunkEntry entry;
    entry.name = spec.name;
    entry.format = form.format;
    entry.shape = std::move(form.shape);
    entry.group = form.format == WeightFormat::F32 ? 0 : kTrunkGroup;
    const auto layout = TrunkLayout::compute(form.format, entry.shape, entry.group);
    if (!layout)
        return Error{ErrorCode::InvalidArgument, "", spec.name + " would be too large"};
    entry.layout = *layout;
    entry.offset = roundUp(end, kPageBytes);
    end = entry.offset + layout->payloadBytes;
    if (layout->scaleBytes > 0) {
        entry.scaleOffset = roundUp(end, kPageBytes);
        end = entry.scaleOffset + layout->scaleBytes;
    }
    return entry;
}

Result<Layout> layOut(const WideModel& model)
{
    if (model.layerCount == 0 || model.vocabularySize < kVocabularyMin)
        return Error{
            ErrorCode::InvalidArgument, "", "a model has at least 1 layer and a vocabulary of at least 1024 tokens"};
    const nlohmann::json config = wideConfig(model);
    Layout layout;
    WASTE_TRY(layout.config, ModelConfig::parse(config, ModelConfig::Origin::Checkpoint, "the wide model"));
    layout.manifestConfig = composeConfig(config);
    layout.quant = expertQuantOf(model.expertFormat);
    WASTE_TRY(layout.geometry,
        ExpertGeometry::compute(
            layout.config.expertWidth, layout.config.expertInputWidth(), layout.quant, "the wide model"));

    layout.specs = requiredTensors(layout.config);
    std::uint64_t end = 0;
    for (const TensorSpec& spec : layout.specs) {
        WASTE_TRY(TrunkEntry entry, placeTensor(spec, end));
        layout.trunk.push_back(std::move(entry));
    }
    layout.bytes = end;
    for (std::uint32_t layer = 0; layer < layout.config.layerCount; ++layer) {
        if (!layout.config.isMoe(layer))
            continue;
        const auto index = static_cast<std::uint32_t>(layout.banks.size());
        layout.banks.push_back({.layer = layer,
            .file = bankFileName(layer),
            .expertCount = layout.config.expertCount,
            .bytes = layout.geometry.strideBytes * layout.config.expertCount,
            .codebookBase = index * layout.quant.codebooksPerLayer()});
        layout.bytes += layout.banks.back().bytes;
    }
    return layout;
}

Status writeTensor(OutputFile& file, const TensorSpec& spec, TrunkEntry& entry, Random random)
{
    WASTE_TRY_STATUS(file.resize(entry.offset));
    if (*entry.format == WeightFormat::F32) {
        const auto values = randomValues(spec, entry.layout.payloadBytes / sizeof(float), random);
        const auto bytes = std::as_bytes(std::span(values));
        entry.crc32 = crc32(bytes);
        return file.append(bytes);
    }
    std::uint32_t checksum = 0;
    std::vector<std::byte> piece(kPieceBytes);
    for (std::uint64_t done = 0; done < entry.layout.payloadBytes; done += piece.size()) {
        piece.resize(std::min<std::uint64_t>(kPieceBytes, entry.layout.payloadBytes - done));
        fillCodes(*entry.format, piece, random);
        checksum = crc32(piece, checksum);
        WASTE_TRY_STATUS(file.append(piece));
    }
    const auto scales = randomScales(*entry.format, spec, entry.layout.scaleBytes / sizeof(std::uint16_t), random);
    const auto scaleBytes = std::as_bytes(std::span(scales));
    entry.crc32 = crc32(scaleBytes, checksum);
    WASTE_TRY_STATUS(file.resize(entry.scaleOffset));
    return file.append(scaleBytes);
}

Status writeTrunk(const std::filesystem::path& directory, Layout& layout, std::uint64_t seed)
{
    WASTE_TRY(OutputFile file, OutputFile::open(directory / kTrunkFile, OutputFile::Mode::Replace));
    for (std::size_t i = 0; i < layout.trunk.size(); ++i)
        WASTE_TRY_STATUS(writeTensor(file, layout.specs[i], layout.trunk[i], Random::forPart(seed, 0, 0, i)));
    WASTE_TRY_STATUS(file.flush());
    return file.close();
}

Status writeBank(
    const std::filesystem::path& directory, const Layout& layout, const BankEntry& bank, std::uint64_t seed)
{
    WASTE_TRY(OutputFile file, OutputFile::open(directory / bank.file, OutputFile::Mode::Replace));
    std::vector<std::byte> record(layout.geometry.strideBytes);
    for (std::uint32_t expert = 0; expert < bank.expertCount; ++expert) {
        Random random = Random::forPart(seed, bank.layer, 1, expert);
        fillExpert(layout.geometry, layout.quant, record, random);
        RecordHeader header =
            RecordHeader::expected(layout.geometry, layout.quant, static_cast<std::uint16_t>(bank.layer),
                static_cast<std::uint16_t>(expert), static_cast<std::uint16_t>(bank.codebookBase));
        header.payloadCrc32 = crc32(std::span(record).first(layout.geometry.payloadEnd).subspan(kRecordHeaderBytes));
        header.encode(std::span(record).first<kRecordHeaderBytes>());
        WASTE_TRY_STATUS(file.append(record));
    }
    WASTE_TRY_STATUS(file.flush());
    return file.close();
}

Status writeFile(const std::filesystem::path& path, std::span<const std::byte> content)
{
    WASTE_TRY(OutputFile file, OutputFile::open(path, OutputFile::Mode::Replace));
    WASTE_TRY_STATUS(file.append(content));
    WASTE_TRY_STATUS(file.flush());
    return file.close();
}

Status writeText(const std::filesystem::path& path, const std::string& text)
{
    return writeFile(path, std::as_bytes(std::span(text)));
}

Status writeManifest(
    const std::filesystem::path& directory, const Layout& layout, std::uint32_t codebooksCrc32, const WideModel& model)
{
    DesktopMetadata metadata;
    metadata.converter = "waste_wide_container";
    metadata.recipe = "random weights";
    metadata.seed = model.seed;
    const ManifestContent content{.config = layout.manifestConfig,
        .architecture = std::string(layout.config.name()),
        .tensorPrefix = layout.config.tensorPrefix,
        .expertQuant = layout.quant,
        .codebooksCrc32 = codebooksCrc32,
        .banks = layout.banks,
        .trunk = layout.trunk,
        .desktop = metadata};
    return writeText(directory / kManifestFile, composeManifest(content));
}

Status prepareDirectory(const std::filesystem::path& directory, std::uint64_t bytes)
{
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    std::filesystem::remove(directory / kManifestFile, error);
    WASTE_TRY(const std::uint64_t freeBytes, freeSpaceBytes(directory));
    if (freeBytes < bytes)
        return Error{ErrorCode::NoSpace, "",
            textFromPath(directory) + ": the container needs " + std::to_string(bytes >> 20) + " MiB, and only "
                + std::to_string(freeBytes >> 20) + " MiB are free"};
    return {};
}

} // namespace

Result<std::uint64_t> wideContainerBytes(const WideModel& model)
{
    WASTE_TRY(const Layout layout, layOut(model));
    return layout.bytes;
}

Status writeWideContainer(const std::filesystem::path& directory, const WideModel& model)
{
    WASTE_TRY(Layout layout, layOut(model));
    WASTE_TRY_STATUS(prepareDirectory(directory, layout.bytes));
    WASTE_TRY_STATUS(writeTrunk(directory, layout, model.seed));
    std::vector<std::byte> codebooks;
    for (const BankEntry& bank : layout.banks) {
        WASTE_TRY_STATUS(writeBank(directory, layout, bank, model.seed));
        Random random = Random::forPart(model.seed, bank.layer, 2, 0);
        const auto records = randomCodebooks(layout.quant, bank.codebookBase, random);
        codebooks.insert(codebooks.end(), records.begin(), records.end());
    }
    WASTE_TRY_STATUS(writeFile(directory / kCodebooksFile, codebooks));
    WASTE_TRY_STATUS(writeText(directory / "tokenizer.model", wideRankFile(model)));
    WASTE_TRY_STATUS(writeText(directory / "specials.json", wideSpecials(model)));
    return writeManifest(directory, layout, crc32(codebooks), model);
}

} // namespace waste::test
