#pragma once

#include "waste/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace waste {

// Durable files of a host program (journals, drafts, settings, attachments), so that hosts need no code of
// the operating system. Files are readable by their owner only. Errors name the file: NotFound, NoSpace
// (disk or quota full), Io; Busy where stated.

// A file that grows at its end.
class JournalFile {
public:
    static Result<JournalFile> open(const std::filesystem::path& path); // created if absent
    ~JournalFile();
    JournalFile(JournalFile&&) noexcept;
    JournalFile& operator=(JournalFile&&) noexcept;

    // One write, then a flush: the lines are on the device when this returns. After an error the file is
    // as long as before, so that what follows never stands behind half a line.
    Status append(std::string_view lines);
    Status resize(std::uint64_t sizeBytes);
    // The file holds this or, after an error, what it held before; the next lines follow it either way.
    Status replace(std::string_view content);
    [[nodiscard]] std::uint64_t sizeBytes() const;

private:
    struct Handle;
    explicit JournalFile(std::unique_ptr<Handle> handle);
    std::unique_ptr<Handle> m_handle;
};

// Says "this is mine" to other programs, and to other parts of this one, for as long as it lives; ends
// with the process too, however that dies.
class HeldLock {
public:
    static Result<HeldLock> acquire(const std::filesystem::path& lockFile); // Busy: somebody else has it
    ~HeldLock();
    HeldLock(HeldLock&&) noexcept;
    HeldLock& operator=(HeldLock&&) noexcept;

private:
    struct Handle;
    explicit HeldLock(std::unique_ptr<Handle> handle);
    std::unique_ptr<Handle> m_handle;
};

// The number by which a person finds this program among those that run: for naming who holds a lock.
std::uint64_t processId();

// The whole file. A larger one is refused before anything is allocated (Corrupt).
Result<std::string> readFile(const std::filesystem::path& path, std::uint64_t bytesMax);
// Temporary, flush, rename, flush of the folder: readers and a crash see the old content or the new one.
Status replaceFile(const std::filesystem::path& path, std::string_view content);
// Creates the folder and those above it where absent, for its owner only.
Status makePrivateFolder(const std::filesystem::path& path);
// Makes files created, renamed or removed in a folder durable.
Status flushFolder(const std::filesystem::path& path);

std::string sha256Text(std::string_view bytes); // 64 hex digits, lower case

// Paths in JSON and messages are UTF-8 on every system.
std::string textOfPath(const std::filesystem::path& path);
std::filesystem::path pathOfText(std::string_view utf8);

} // namespace waste
