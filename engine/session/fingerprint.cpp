#include "session/fingerprint.h"

#include "container/tensor_inventory.h"
#include "container/trunk.h"
#include "platform/direct_file.h"

#include <algorithm>
#include <cassert>
#include <string_view>
#include <vector>

namespace waste {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
constexpr std::size_t kRecordPrefixBytes = 40; // header up to and including the checksum of the record

void addText(Sha256& sha, std::string_view text)
{
    sha.update(std::as_bytes(std::span(text)));
}

template<typename T>
void addNumber(Sha256& sha, T number)
{
    sha.update(std::as_bytes(std::span(&number, 1)));
}

Status addRange(Sha256& sha, const DirectFile& file, std::uint64_t begin, std::uint64_t bytes)
{
    std::vector<std::byte> buffer(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, kBufferBytes)));
    while (bytes > 0) {
        const auto part =
            std::span(buffer).first(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, buffer.size())));
        WASTE_TRY_STATUS(file.readExactly(begin, part));
        sha.update(part);
        begin += part.size();
        bytes -= part.size();
    }
    return {};
}

Status addBanks(Sha256& sha, const ContainerFiles& container)
{
    for (const BankEntry& bank : container.manifest.banks) {
        WASTE_TRY(
            const DirectFile file, DirectFile::open(container.directory / bank.file, DirectFile::Access::Buffered));
        const std::uint64_t lastRecord = (bank.expertCount - 1) * container.manifest.geometry.strideBytes;
        WASTE_TRY_STATUS(addRange(sha, file, 0, kRecordPrefixBytes));
        WASTE_TRY_STATUS(addRange(sha, file, lastRecord, kRecordPrefixBytes));
    }
    return {};
}

Status addContainer(Sha256& sha, const ContainerFiles& container, const LoadedChecksums& loaded)
{
    const Manifest& manifest = container.manifest;
    WASTE_TRY(const DirectFile codebooks,
        DirectFile::open(container.directory / kCodebooksFile, DirectFile::Access::Buffered));
    WASTE_TRY_STATUS(addRange(sha, codebooks, 0, codebooks.sizeBytes()));
    WASTE_TRY_STATUS(addBanks(sha, container));

    std::vector<std::string> names;
    for (const TensorSpec& spec : requiredTensors(manifest.config))
        names.push_back(spec.name);
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
        const TrunkEntry* entry = manifest.find(name);
        if (entry == nullptr || (isEmbeddingOnDisk(manifest) && name == embeddingName(manifest.config)))
            continue; // optional and absent, or not resident
        assert(entry->crc32 || loaded.contains(name));
        addText(sha, name);
        addNumber(sha, static_cast<std::uint32_t>(*entry->format));
        addNumber(sha, entry->crc32 ? *entry->crc32 : loaded.at(name));
    }
    return {};
}

// Of each shard its header and size.
Status addShards(Sha256& sha, const CheckpointFiles& checkpoint)
{
    for (const std::string& shard : checkpoint.shardNames()) {
        WASTE_TRY(
            const DirectFile file, DirectFile::open(checkpoint.directory() / shard, DirectFile::Access::Buffered));
        std::uint64_t headerBytes = 0;
        WASTE_TRY_STATUS(file.readExactly(0, std::as_writable_bytes(std::span(&headerBytes, 1))));
        headerBytes = std::min(headerBytes, file.sizeBytes() - sizeof(headerBytes));
        WASTE_TRY_STATUS(addRange(sha, file, sizeof(headerBytes), headerBytes));
        addNumber(sha, file.sizeBytes());
    }
    return {};
}

} // namespace

Result<Sha256Digest> modelFingerprint(const detail::ModelFiles& files, const LoadedChecksums& loaded)
{
    Sha256 sha;
    addText(sha, files.decisiveText);
    if (const ContainerFiles* container = files.container())
        WASTE_TRY_STATUS(addContainer(sha, *container, loaded));
    else
        WASTE_TRY_STATUS(addShards(sha, *files.checkpoint()));
    return sha.finish();
}

} // namespace waste
