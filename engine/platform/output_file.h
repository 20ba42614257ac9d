#pragma once

#include "platform/native_file.h"
#include "waste/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace waste {

// A file being written: banks, trunks, journals. One thread at a time. Errors name the file; a full disk
// or an exhausted quota is NoSpace, everything else Io (NotFound for a missing directory).
class OutputFile {
public:
    using Mode = NativeFile::Mode; // Replace, CreateNew or Update
    using Permissions = NativeFile::Permissions;

    static Result<OutputFile> open(
        const std::filesystem::path& path, Mode mode, Permissions permissions = Permissions::Default);

    Status append(std::span<const std::byte> bytes); // at sizeBytes()
    Status append(std::string_view text);
    Status writeAt(std::uint64_t offsetBytes, std::span<const std::byte> bytes);
    Status resize(std::uint64_t sizeBytes); // a journal drops its torn last line with this
    // What was written before is on the device when this returns (fdatasync, F_FULLFSYNC).
    Status flush();
    // Closing can be the first to hear of a failed write; call it where that matters.
    Status close();

    [[nodiscard]] std::uint64_t sizeBytes() const { return m_sizeBytes; }
    [[nodiscard]] const std::filesystem::path& path() const { return m_path; }

private:
    OutputFile(std::filesystem::path path, NativeFile file, std::uint64_t sizeBytes);

    std::filesystem::path m_path;
    NativeFile m_file;
    std::uint64_t m_sizeBytes = 0;
};

// Gives a file another name, in place of one that has it. Errors name that one.
Status renameFile(const std::filesystem::path& from, const std::filesystem::path& to);

// Makes files created, renamed or removed in `directory` durable.
Status flushDirectory(const std::filesystem::path& directory);

} // namespace waste
