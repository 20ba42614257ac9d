#pragma once

#include "platform/output_file.h"
#include "waste/result.h"

#include <filesystem>
#include <string_view>

namespace waste {

// Replaces a file as a whole: readers and a crash see the old content or the new one, never a mixture. A link stays,
// and what it leads to is replaced.
//
// Writes into a temporary beside the target. commit() flushes it, renames it over the target and makes the
// rename durable; without commit() the destructor removes it.
class AtomicFile {
public:
    using Permissions = OutputFile::Permissions;

    // Error: InvalidArgument where something stands that is no file: a folder, a pipe, a device.
    static Result<AtomicFile> create(
        const std::filesystem::path& target, Permissions permissions = Permissions::Default);
    AtomicFile(AtomicFile&& other) noexcept;
    AtomicFile& operator=(AtomicFile&&) = delete;
    ~AtomicFile();

    [[nodiscard]] OutputFile& content() { return m_content; }
    Status commit();

private:
    AtomicFile(std::filesystem::path target, OutputFile content);

    std::filesystem::path m_target;
    OutputFile m_content;
    bool m_ownsTemporary = true;
};

Status writeFileAtomically(const std::filesystem::path& target, std::string_view content,
    AtomicFile::Permissions permissions = AtomicFile::Permissions::Default);

} // namespace waste
