#include "checkpoint/checkpoint_files.h"

#include "base/crc32.h"
#include "checkpoint/json_file.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/shard_index.h"
#include "platform/direct_file.h"
#include "platform/file_error.h"
#include "platform/path_text.h"
#include "platform/small_file.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <system_error>
#include <utility>

namespace waste {

struct CheckpointFiles::Shard {
    std::string name;
    std::uint64_t fileBytes = 0;
    std::uint32_t headerCrc32 = 0;
    std::optional<DirectFile> file; // while it is open
};

struct CheckpointFiles::Content {
    std::filesystem::path directory;
    nlohmann::json config;
    std::vector<Shard> shards;
    std::vector<CheckpointTensor> tensors;
    std::vector<std::string> warnings;
};

namespace {

constexpr std::string_view kConfigFile = "config.json";
constexpr std::string_view kIndexFile = "model.safetensors.index.json";
constexpr std::string_view kSingleFile = "model.safetensors";
constexpr std::uint64_t kConfigBytesMax = 4U << 20;
constexpr std::uint64_t kIndexBytesMax = 256U << 20; // 497,220 tensors need 67 MB
constexpr std::size_t kReadChunkBytes = 1U << 20;

constexpr std::string_view kPackedSuffix = ".weight_packed";
constexpr std::string_view kScaleSuffix = ".weight_scale";
constexpr std::string_view kPlainSuffix = ".weight";

struct StoredTensor {
    SafetensorsEntry entry;
    std::uint32_t shard = 0;
};

bool fileExists(const std::filesystem::path& path)
{
    std::error_code error;
    return std::filesystem::is_regular_file(path, error);
}

Error corruptTensor(const std::string& name, const std::string& what)
{
    return {ErrorCode::Corrupt, "", "tensor \"" + name + "\": " + what};
}

std::uint32_t checksum(const std::string& text)
{
    return crc32(std::as_bytes(std::span(text)));
}

using ShardIndex = std::map<std::string, std::string>; // tensor → shard file

// What the directory says about its shards; a lone model.safetensors needs no index.
Result<std::optional<ShardIndex>> readIndex(const std::filesystem::path& directory)
{
    const std::filesystem::path path = directory / kIndexFile;
    if (!fileExists(path))
        return std::optional<ShardIndex>();
    WASTE_TRY(const std::string text, readSmallFile(path, kIndexBytesMax));
    WASTE_TRY(ShardIndex index, parseShardIndex(text, textFromPath(path)));
    return std::optional(std::move(index));
}

std::vector<std::string> shardFileNames(const std::optional<ShardIndex>& index)
{
    if (!index)
        return {std::string(kSingleFile)};
    std::vector<std::string> names;
    for (const auto& [tensor, shard] : *index)
        names.push_back(shard);
    std::ranges::sort(names);
    const auto repeated = std::ranges::unique(names);
    names.erase(repeated.begin(), repeated.end());
    return names;
}

// A shard's header may hold less than the index promises; then weights are missing.
Status checkComplete(const ShardIndex& index, const std::vector<StoredTensor>& stored)
{
    if (index.size() == stored.size())
        return {};
    std::map<std::string_view, std::uint32_t> present;
    for (const StoredTensor& tensor : stored)
        present.emplace(tensor.entry.name, tensor.shard);
    for (const auto& [tensor, shard] : index) {
        if (!present.contains(tensor))
            return corruptTensor(tensor, "the index places it in " + shard + ", which does not have it");
    }
    return {};
}

CheckpointTensor::Piece pieceOf(const StoredTensor& stored)
{
    return {stored.shard, stored.entry.offsetBytes, stored.entry.bytes};
}

Result<CheckpointTensor> joinMxfp4(std::string name, const StoredTensor& packed, const StoredTensor& scales)
{
    const std::vector<std::uint64_t>& values = packed.entry.shape;
    const std::vector<std::uint64_t>& groups = scales.entry.shape;
    if (packed.entry.type != TensorType::U8 || scales.entry.type != TensorType::U8)
        return Error{ErrorCode::Unsupported, "", "tensor \"" + name + "\": packed values and scales must be U8"};
    if (values.size() != 2 || groups.size() != 2 || values[0] != groups[0]
        || 2 * values[1] != kMxfp4GroupColumns * groups[1])
        return corruptTensor(name, "packed values and scales have shapes that do not fit");
    CheckpointTensor tensor;
    tensor.name = std::move(name);
    tensor.shape = {values[0], 2 * values[1]};
    tensor.coding = CheckpointTensor::Coding::Mxfp4;
    tensor.type = TensorType::U8;
    tensor.values = pieceOf(packed);
    tensor.scales = pieceOf(scales);
    return tensor;
}

// Turns stored tensors into logical ones: two halves of MXFP4 become one.
Result<std::vector<CheckpointTensor>> joinHalves(std::vector<StoredTensor> stored)
{
    std::ranges::sort(stored, {}, [](const StoredTensor& tensor) -> const std::string& { return tensor.entry.name; });
    const auto find = [&stored](const std::string& name) -> const StoredTensor* {
        const auto place = std::ranges::lower_bound(
            stored, name, {}, [](const StoredTensor& tensor) -> const std::string& { return tensor.entry.name; });
        return place != stored.end() && place->entry.name == name ? &*place : nullptr;
    };
    std::vector<CheckpointTensor> tensors;
    tensors.reserve(stored.size());
    for (const StoredTensor& tensor : stored) {
        const std::string& name = tensor.entry.name;
        const bool isPacked = name.ends_with(kPackedSuffix);
        if (!isPacked && !name.ends_with(kScaleSuffix)) {
            tensors.push_back(
                {name, tensor.entry.shape, CheckpointTensor::Coding::Plain, tensor.entry.type, pieceOf(tensor), {}});
            continue;
        }
        const std::string stem = name.substr(0, name.size() - (isPacked ? kPackedSuffix : kScaleSuffix).size());
        const StoredTensor* other = find(stem + std::string(isPacked ? kScaleSuffix : kPackedSuffix));
        if (other == nullptr)
            return corruptTensor(name, "its other half is missing");
        const std::string plain = stem + std::string(kPlainSuffix);
        if (find(plain) != nullptr)
            return corruptTensor(plain, "it is there both plain and packed");
        if (!isPacked)
            continue;
        WASTE_TRY(CheckpointTensor joined, joinMxfp4(plain, tensor, *other));
        tensors.push_back(std::move(joined));
    }
    std::ranges::sort(tensors, {}, &CheckpointTensor::name);
    return tensors;
}

} // namespace

std::uint64_t CheckpointTensor::elements() const
{
    return elementCount(shape);
}

Result<CheckpointFiles::ShardHeader> CheckpointFiles::readShardHeader(const std::filesystem::path& shard)
{
    WASTE_TRY(const DirectFile file, DirectFile::open(shard, DirectFile::Access::Buffered));
    std::uint64_t preamble = 0;
    if (file.sizeBytes() >= kSafetensorsPreambleBytes)
        WASTE_TRY_STATUS(file.readExactly(0, std::as_writable_bytes(std::span(&preamble, 1))));
    WASTE_TRY(const std::uint64_t headerBytes, safetensorsHeaderBytes(preamble, file.sizeBytes(), textFromPath(shard)));
    ShardHeader header{std::string(headerBytes, '\0'), file.sizeBytes()};
    WASTE_TRY_STATUS(file.readExactly(kSafetensorsPreambleBytes, std::as_writable_bytes(std::span(header.json))));
    return header;
}

Result<std::unique_ptr<const CheckpointFiles>> CheckpointFiles::open(const std::filesystem::path& directory)
{
    const auto header = [&](const std::string& shard) { return readShardHeader(directory / pathFromText(shard)); };
    WASTE_TRY(std::unique_ptr<CheckpointFiles> files, openHeaders(directory, header));
    for (std::uint32_t shard = 0; shard < files->m_shards.size(); ++shard)
        WASTE_TRY_STATUS(files->openShard(shard));
    return std::unique_ptr<const CheckpointFiles>(std::move(files));
}

Result<std::vector<std::string>> CheckpointFiles::listShards(const std::filesystem::path& directory)
{
    WASTE_TRY(const std::optional<ShardIndex> index, readIndex(directory));
    return shardFileNames(index);
}

Result<std::unique_ptr<CheckpointFiles>> CheckpointFiles::openHeaders(
    const std::filesystem::path& directory, const ShardHeaders& headers)
{
    std::error_code error;
    if (std::filesystem::status(directory / kConfigFile, error).type() == std::filesystem::file_type::none)
        return fileError("open", directory / kConfigFile, error); // no permission is not the same as no file
    if (!isCheckpoint(directory))
        return Error{ErrorCode::NotFound, "",
            textFromPath(directory)
                + " is not a published model: it needs config.json and model.safetensors or an index of shards"};
    Content content;
    content.directory = directory;
    const std::filesystem::path configPath = directory / kConfigFile;
    WASTE_TRY(const std::string configText, readSmallFile(configPath, kConfigBytesMax));
    WASTE_TRY(content.config, parseJsonObject(configText, textFromPath(configPath)));

    WASTE_TRY(const std::optional<ShardIndex> index, readIndex(directory));
    std::vector<StoredTensor> stored;
    for (std::string& name : shardFileNames(index)) {
        const std::filesystem::path path = directory / pathFromText(name);
        WASTE_TRY(const ShardHeader text, headers(name));
        WASTE_TRY(SafetensorsHeader header, parseSafetensorsHeader(text.json, text.fileBytes, textFromPath(path)));
        if (header.hasHoles)
            content.warnings.push_back(textFromPath(path) + " has bytes that belong to no tensor");
        const auto shard = static_cast<std::uint32_t>(content.shards.size());
        for (SafetensorsEntry& entry : header.entries) {
            const auto place = index ? index->find(entry.name) : ShardIndex::const_iterator();
            if (!index || (place != index->end() && place->second == name))
                stored.push_back({std::move(entry), shard});
        }
        content.shards.push_back({std::move(name), text.fileBytes, checksum(text.json), std::nullopt});
    }
    if (index)
        WASTE_TRY_STATUS(checkComplete(*index, stored));
    WASTE_TRY(content.tensors, joinHalves(std::move(stored)));
    return std::unique_ptr<CheckpointFiles>(new CheckpointFiles(std::move(content)));
}

bool CheckpointFiles::isShardOpen(std::uint32_t shard) const
{
    return m_shards[shard].file.has_value();
}

Status CheckpointFiles::openShard(std::uint32_t index)
{
    Shard& shard = m_shards[index];
    const std::filesystem::path path = m_directory / pathFromText(shard.name);
    WASTE_TRY(const ShardHeader header, readShardHeader(path));
    if (header.fileBytes != shard.fileBytes || checksum(header.json) != shard.headerCrc32)
        return Error{ErrorCode::Corrupt, "",
            textFromPath(path) + " is another file than its header said before; download this file again"};
    WASTE_TRY(shard.file, DirectFile::open(path, DirectFile::Access::Buffered));
    return {};
}

void CheckpointFiles::closeShard(std::uint32_t shard)
{
    m_shards[shard].file.reset();
}

std::uint64_t CheckpointFiles::shardBytes(std::uint32_t shard) const
{
    return m_shards[shard].fileBytes;
}

bool CheckpointFiles::canRead(const CheckpointTensor& tensor) const
{
    return isShardOpen(tensor.values.shard)
        && (tensor.coding == CheckpointTensor::Coding::Plain || isShardOpen(tensor.scales.shard));
}

CheckpointFiles::CheckpointFiles(Content content)
    : m_directory(std::move(content.directory))
    , m_config(std::make_unique<nlohmann::json>(std::move(content.config)))
    , m_shards(std::move(content.shards))
    , m_tensors(std::move(content.tensors))
    , m_warnings(std::move(content.warnings))
{
}

CheckpointFiles::~CheckpointFiles() = default;

bool CheckpointFiles::isCheckpoint(const std::filesystem::path& directory)
{
    return fileExists(directory / kConfigFile)
        && (fileExists(directory / kIndexFile) || fileExists(directory / kSingleFile));
}

const CheckpointTensor* CheckpointFiles::find(std::string_view name) const
{
    const auto place = std::ranges::lower_bound(m_tensors, name, {}, &CheckpointTensor::name);
    return place != m_tensors.end() && place->name == name ? &*place : nullptr;
}

std::vector<std::string> CheckpointFiles::shardNames() const
{
    std::vector<std::string> names;
    for (const Shard& shard : m_shards)
        names.push_back(shard.name);
    return names;
}

Status CheckpointFiles::read(const CheckpointTensor& tensor, std::uint64_t first, std::span<float> target) const
{
    assert(first <= tensor.elements() && target.size() <= tensor.elements() - first);
    return tensor.coding == CheckpointTensor::Coding::Mxfp4 ? readMxfp4(tensor, first, target)
                                                            : readPlain(tensor, first, target);
}

Status CheckpointFiles::readPlain(const CheckpointTensor& tensor, std::uint64_t first, std::span<float> target) const
{
    if (!tensor.isReadable())
        return Error{ErrorCode::Unsupported, "",
            "tensor \"" + tensor.name + "\" has the type " + std::string(tensorTypeName(tensor.type))
                + ", which cannot be read as weights"};
    const std::uint64_t elementBytes = tensorTypeBytes(tensor.type);
    std::vector<std::byte> chunk(std::min<std::uint64_t>(kReadChunkBytes, target.size() * elementBytes));
    while (!target.empty()) {
        const std::size_t count = std::min<std::size_t>(target.size(), kReadChunkBytes / elementBytes);
        const std::span bytes = std::span(chunk).first(count * elementBytes);
        WASTE_TRY_STATUS(readPiece(tensor, tensor.values, first * elementBytes, bytes));
        convertToF32(tensor.type, bytes, target.first(count));
        target = target.subspan(count);
        first += count;
    }
    return {};
}

Status CheckpointFiles::readMxfp4(const CheckpointTensor& tensor, std::uint64_t first, std::span<float> target) const
{
    assert(first % kMxfp4GroupColumns == 0 && target.size() % kMxfp4GroupColumns == 0);
    constexpr std::size_t kPackedGroupBytes = kMxfp4GroupColumns / 2;
    const std::size_t chunkGroups = std::min(kReadChunkBytes / kPackedGroupBytes, target.size() / kMxfp4GroupColumns);
    std::vector<std::byte> packed(chunkGroups * kPackedGroupBytes);
    std::vector<std::byte> scales(chunkGroups);
    std::uint64_t group = first / kMxfp4GroupColumns;
    while (!target.empty()) {
        const std::size_t count = std::min(target.size() / kMxfp4GroupColumns, chunkGroups);
        const std::span packedBytes = std::span(packed).first(count * kPackedGroupBytes);
        const std::span scaleBytes = std::span(scales).first(count);
        WASTE_TRY_STATUS(readPiece(tensor, tensor.values, group * kPackedGroupBytes, packedBytes));
        WASTE_TRY_STATUS(readPiece(tensor, tensor.scales, group, scaleBytes));
        const std::span decoded = target.first(count * kMxfp4GroupColumns);
        if (const auto damaged = decodeMxfp4(packedBytes, scaleBytes, decoded))
            return corruptTensor(tensor.name,
                "scale " + std::to_string(group + *damaged) + " is not a number; the shard "
                    + m_shards[tensor.scales.shard].name + " is damaged");
        target = target.subspan(decoded.size());
        group += count;
    }
    return {};
}

Status CheckpointFiles::readPiece(const CheckpointTensor& tensor, const CheckpointTensor::Piece& piece,
    std::uint64_t offsetBytes, std::span<std::byte> target) const
{
    assert(offsetBytes <= piece.bytes && target.size() <= piece.bytes - offsetBytes);
    const Shard& shard = m_shards[piece.shard];
    if (!shard.file)
        return Error{ErrorCode::NotFound, "",
            "tensor \"" + tensor.name + "\": " + textFromPath(m_directory / pathFromText(shard.name))
                + " is not there"};
    Status status = shard.file->readExactly(piece.offsetBytes + offsetBytes, target);
    if (!status)
        status.error().message = "tensor \"" + tensor.name + "\": " + status.error().message
            + (status.error().reason == kShortFileReason ? "; download or copy this file again" : "");
    return status;
}

Result<std::optional<std::string>> CheckpointFiles::readSideFile(std::string_view name, std::uint64_t bytesMax) const
{
    const std::filesystem::path path = m_directory / pathFromText(name);
    if (!fileExists(path))
        return std::optional<std::string>();
    WASTE_TRY(std::string text, readSmallFile(path, bytesMax));
    return std::optional(std::move(text));
}

std::string CheckpointFiles::tokenizerFileName() const
{
    for (const std::string_view name : {"tiktoken.model", "tokenizer.model"}) {
        if (fileExists(m_directory / pathFromText(name)))
            return std::string(name);
    }
    return {};
}

} // namespace waste
