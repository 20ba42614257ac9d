#pragma once

#include "platform/sha.h"
#include "waste/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace waste {

// What integrity.json states about the files of a container (spec: container 15, item 3): format v0 has checksums for
// expert records only. Readers that do not know the file ignore it.

inline constexpr std::string_view kIntegrityFile = "integrity.json";
inline constexpr std::uint64_t kIntegrityChunkBytes = std::uint64_t{64} << 20;

struct FileDigest {
    std::uint64_t bytes = 0;
    std::string sha256; // hexadecimal, lower case
    // CRC-32 of each `chunkBytes`, so that damage has a place and large files are checked at the drive's speed;
    // none where the file is no larger than one chunk.
    std::uint64_t chunkBytes = kIntegrityChunkBytes;
    std::vector<std::uint32_t> chunkCrc32;

    friend bool operator==(const FileDigest&, const FileDigest&) = default;
};

using Integrity = std::map<std::string, FileDigest>; // by plain file name

std::string composeIntegrity(const Integrity& integrity);
// `file` names the text in messages. Errors: Corrupt.
Result<Integrity> parseIntegrity(std::string_view text, std::string_view file);
// The one of a container; NotFound where it has none.
Result<Integrity> readIntegrity(const std::filesystem::path& directory);

// Whether a file is a person's or the program's to change, so that a change is no damage.
bool mayChange(std::string_view file);

// Takes the content of a file in order.
class FileDigester {
public:
    enum class Kind : std::uint8_t { Everything, ChecksumsOnly }; // the latter leaves sha256 empty, and is faster
    explicit FileDigester(Kind kind = Kind::Everything, std::uint64_t chunkBytes = kIntegrityChunkBytes);
    // What telling the file apart from the stated one needs, and no more.
    static FileDigester like(const FileDigest& stated);

    void update(std::span<const std::byte> bytes);
    [[nodiscard]] FileDigest finish();

private:
    Kind m_kind;
    FileDigest m_digest;
    Sha256 m_sha;
    std::uint32_t m_crc32 = 0; // of the chunk in work
    std::uint64_t m_chunkFilled = 0;
};

// Reads a whole file past the page cache. `read` is told the bytes of each block and can end the work.
Result<FileDigest> digestFile(
    const std::filesystem::path& file, FileDigester digester, const std::function<Status(std::uint64_t bytes)>& read);

// Where a file that was digested like() the stated one differs from it: the offset of every such chunk, or of the
// whole file. Empty: nowhere. The sizes are equal.
std::vector<std::uint64_t> findDifferences(const FileDigest& stated, const FileDigest& actual);

} // namespace waste
