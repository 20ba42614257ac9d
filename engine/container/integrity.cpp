#include "container/integrity.h"

#include "base/checked.h"
#include "container/error_reasons.h"
#include "container/json_values.h"
#include "container/part_file.h"
#include "kernels/checksum.h"
#include "platform/direct_file.h"
#include "platform/pages.h"
#include "platform/path_text.h"
#include "platform/small_file.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace waste {

namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::uint64_t kTextBytesMax = std::uint64_t{64} << 20;
constexpr std::uint32_t kDepthMax = 8;
constexpr std::size_t kSha256Digits = 64;
constexpr std::uint64_t kBlockBytes = std::uint64_t{4} << 20;

// A member that is a whole number of at least zero; −1: it is not.
std::int64_t naturalMember(const nlohmann::json& object, std::string_view key)
{
    const nlohmann::json* value = member(object, key);
    return value != nullptr ? std::max<std::int64_t>(asInteger(*value).value_or(-1), -1) : -1;
}

bool isSha256(const nlohmann::json& value)
{
    const auto isDigit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    if (!value.is_string())
        return false;
    const auto& text = value.get_ref<const std::string&>();
    return text.size() == kSha256Digits && std::ranges::all_of(text, isDigit);
}

// Fills the list of checksums; false if it is not what the file's size asks for.
bool readChunks(const nlohmann::json& entry, FileDigest& digest)
{
    const nlohmann::json* list = member(entry, "crc32");
    if (list == nullptr && member(entry, "chunk") == nullptr)
        return true;
    const std::int64_t chunkBytes = naturalMember(entry, "chunk");
    if (list == nullptr || !list->is_array() || chunkBytes <= 0)
        return false;
    if (list->size() != ceilDivide(digest.bytes, static_cast<std::uint64_t>(chunkBytes)))
        return false;
    if (!list->empty())
        digest.chunkBytes = static_cast<std::uint64_t>(chunkBytes);
    for (const nlohmann::json& value : *list) {
        const std::int64_t crc = asInteger(value).value_or(-1);
        if (crc < 0 || crc > UINT32_MAX)
            return false;
        digest.chunkCrc32.push_back(static_cast<std::uint32_t>(crc));
    }
    return true;
}

} // namespace

std::string composeIntegrity(const Integrity& integrity)
{
    nlohmann::ordered_json files = nlohmann::ordered_json::object();
    for (const auto& [name, digest] : integrity) {
        nlohmann::ordered_json entry = {{"bytes", digest.bytes}, {"sha256", digest.sha256}};
        if (!digest.chunkCrc32.empty()) {
            entry["chunk"] = digest.chunkBytes;
            entry["crc32"] = digest.chunkCrc32;
        }
        files[name] = std::move(entry);
    }
    const nlohmann::ordered_json root = {{"version", kVersion}, {"files", std::move(files)}};
    return root.dump(-1, ' ', /*ensure_ascii=*/true) + "\n";
}

Result<Integrity> parseIntegrity(std::string_view text, std::string_view file)
{
    const auto malformed = [&file](const std::string& what) {
        return reason::corrupt(reason::kManifest, std::string(file) + ": " + what + ". Copy this file again.");
    };
    WASTE_TRY(const nlohmann::json root, parseJson(text, kDepthMax, file));
    const nlohmann::json* version = root.is_object() ? member(root, "version") : nullptr;
    const nlohmann::json* files = root.is_object() ? member(root, "files") : nullptr;
    if (version == nullptr || asInteger(*version) != kVersion || files == nullptr || !files->is_object())
        return malformed("it is not a list of checksums of version 1");
    Integrity integrity;
    for (const auto& [name, entry] : files->items()) {
        const std::int64_t bytes = entry.is_object() ? naturalMember(entry, "bytes") : -1;
        const nlohmann::json* sha256 = entry.is_object() ? member(entry, "sha256") : nullptr;
        if (!isPlainFileName(name) || bytes < 0 || sha256 == nullptr || !isSha256(*sha256))
            return malformed("the entry \"" + name + "\" is not one of a file");
        FileDigest digest;
        digest.bytes = static_cast<std::uint64_t>(bytes);
        digest.sha256 = sha256->get<std::string>();
        if (!readChunks(entry, digest))
            return malformed("the checksums of \"" + name + "\" do not fit its size");
        integrity.emplace(name, std::move(digest));
    }
    return integrity;
}

Result<Integrity> readIntegrity(const std::filesystem::path& directory)
{
    const std::filesystem::path path = directory / kIntegrityFile;
    WASTE_TRY(const std::string text, readSmallFile(path, kTextBytesMax));
    return parseIntegrity(text, textFromPath(path));
}

bool mayChange(std::string_view file)
{
    return file == "chat.json" || file == "usage.waste";
}

FileDigester::FileDigester(Kind kind, std::uint64_t chunkBytes)
    : m_kind(kind)
{
    m_digest.chunkBytes = chunkBytes;
}

FileDigester FileDigester::like(const FileDigest& stated)
{
    return stated.chunkCrc32.empty() ? FileDigester() : FileDigester(Kind::ChecksumsOnly, stated.chunkBytes);
}

void FileDigester::update(std::span<const std::byte> bytes)
{
    if (m_kind == Kind::Everything)
        m_sha.update(bytes);
    m_digest.bytes += bytes.size();
    while (!bytes.empty()) {
        const auto part = bytes.first(std::min<std::uint64_t>(bytes.size(), m_digest.chunkBytes - m_chunkFilled));
        m_crc32 = kernels::crc32(part, m_crc32);
        m_chunkFilled += part.size();
        bytes = bytes.subspan(part.size());
        if (m_chunkFilled == m_digest.chunkBytes) {
            m_digest.chunkCrc32.push_back(std::exchange(m_crc32, 0));
            m_chunkFilled = 0;
        }
    }
}

FileDigest FileDigester::finish()
{
    if (m_chunkFilled > 0)
        m_digest.chunkCrc32.push_back(m_crc32);
    if (m_kind == Kind::Everything) {
        m_digest.sha256 = hexText(m_sha.finish());
        if (m_digest.bytes <= m_digest.chunkBytes)
            m_digest.chunkCrc32.clear();
    }
    return std::move(m_digest);
}

Result<FileDigest> digestFile(
    const std::filesystem::path& file, FileDigester digester, const std::function<Status(std::uint64_t bytes)>& read)
{
    WASTE_TRY(const DirectFile source, DirectFile::open(file, DirectFile::Access::Direct));
    const std::uint64_t blockBytes =
        std::min(kBlockBytes, roundUp(source.sizeBytes(), std::uint64_t{kDirectIoAlignment}));
    WASTE_TRY(const Pages pages, Pages::allocate(blockBytes, "checksums"));
    for (std::uint64_t offset = 0; offset < source.sizeBytes();) {
        const auto block = pages.bytes().first(blockBytes);
        const std::uint64_t wanted = std::min<std::uint64_t>(blockBytes, source.sizeBytes() - offset);
        WASTE_TRY_STATUS(source.readAtLeast(offset, block, wanted));
        digester.update(block.first(wanted));
        offset += wanted;
        WASTE_TRY_STATUS(read(wanted));
    }
    return digester.finish();
}

std::vector<std::uint64_t> findDifferences(const FileDigest& stated, const FileDigest& actual)
{
    assert(stated.bytes == actual.bytes);
    if (stated.chunkCrc32.empty())
        return stated.sha256 == actual.sha256 ? std::vector<std::uint64_t>{} : std::vector<std::uint64_t>{0};
    std::vector<std::uint64_t> offsets;
    for (std::size_t i = 0; i < stated.chunkCrc32.size(); ++i) {
        if (stated.chunkCrc32[i] != actual.chunkCrc32[i])
            offsets.push_back(i * stated.chunkBytes);
    }
    return offsets;
}

} // namespace waste
