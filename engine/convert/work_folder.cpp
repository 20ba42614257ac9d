#include "convert/work_folder.h"

#include "container/part_file.h"
#include "convert/space_wait.h"
#include "platform/file_error.h"
#include "platform/file_facts.h"
#include "platform/output_file.h"
#include "platform/path_text.h"

#include <algorithm>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace waste {
namespace {

constexpr std::string_view kLockName = "lock";

} // namespace

Result<WorkFolder> WorkFolder::open(const std::filesystem::path& target, const ConversionProgress& progress)
{
    const std::filesystem::path folder = target / kConversionFolder;
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error)
        return fileError("create", folder, error);
    const std::filesystem::path lockFile = folder / kLockName;
    auto lock = FileLock::acquire(lockFile);
    // A conversion that ends deletes its lock file; a lock on a deleted file keeps nobody out.
    if (lock) {
        WASTE_TRY(const bool isLocked, isThere(lockFile));
        if (!isLocked)
            lock = Error{ErrorCode::Busy, "busy", {}};
    }
    if (!lock) {
        if (lock.error().code == ErrorCode::Busy)
            lock.error().message = textFromPath(target) + " is being written by another conversion";
        return std::move(lock.error());
    }
    return WorkFolder(target, folder, std::move(*lock), progress);
}

WorkFolder::WorkFolder(
    std::filesystem::path target, std::filesystem::path folder, FileLock lock, const ConversionProgress& progress)
    : m_target(std::move(target))
    , m_folder(std::move(folder))
    , m_lock(std::move(lock))
    , m_progress(&progress)
{
}

Status WorkFolder::writeAll(const std::filesystem::path& path, std::span<const std::byte> content) const
{
    return writePatiently(m_target, content.size(), *m_progress, [&]() -> Status {
        WASTE_TRY(OutputFile file, OutputFile::open(path, OutputFile::Mode::Replace));
        WASTE_TRY_STATUS(file.append(content));
        WASTE_TRY_STATUS(file.flush());
        return file.close();
    });
}

Status WorkFolder::write(std::string_view name, std::span<const std::byte> content) const
{
    std::filesystem::path temporary = path(name);
    temporary += ".tmp";
    WASTE_TRY_STATUS(writeAll(temporary, content));
    return rename(temporary, path(name));
}

Status WorkFolder::write(std::string_view name, std::string_view text) const
{
    return write(name, std::as_bytes(std::span(text)));
}

Status WorkFolder::publish(std::string_view name, std::string_view targetName) const
{
    return rename(path(name), m_target / targetName);
}

Status WorkFolder::writeTarget(std::string_view targetName, std::span<const std::byte> content) const
{
    WASTE_TRY_STATUS(writeAll(path(targetName), content));
    return publish(targetName, targetName);
}

// Two steps, each repeated by itself: a name that has moved cannot move again.
Status WorkFolder::rename(const std::filesystem::path& from, const std::filesystem::path& to) const
{
    WASTE_TRY_STATUS(writePatiently(m_target, 1, *m_progress, [&] { return renameFile(from, to); }));
    return writePatiently(m_target, 1, *m_progress, [&] { return flushDirectory(to.parent_path()); });
}

Status WorkFolder::clear() const
{
    WASTE_TRY(const std::vector<std::filesystem::path> entries, listFolder(m_folder));
    for (const std::filesystem::path& entry : entries) {
        if (entry.filename() == kLockName)
            continue;
        std::error_code error;
        if (!std::filesystem::is_directory(entry, error))
            WASTE_TRY_STATUS(removeBank(entry)); // or another file
        else if (std::filesystem::remove_all(entry, error); error)
            return fileError("delete", entry, error);
    }
    return {};
}

Status WorkFolder::remove(WorkFolder folder)
{
    const std::filesystem::path path = folder.m_folder;
    WASTE_TRY_STATUS(folder.clear());
    {
        const WorkFolder released = std::move(folder); // some systems delete no file that is open
    }
    std::error_code error;
    std::filesystem::remove_all(path, error);
    if (error)
        return fileError("delete", path, error);
    return {};
}

Status WorkFolder::removeUnused(WorkFolder folder)
{
    WASTE_TRY(const std::vector<std::filesystem::path> entries, listFolder(folder.m_folder));
    if (std::ranges::any_of(entries, [](const auto& entry) { return entry.filename() != kLockName; }))
        return {};
    return remove(std::move(folder));
}

Status removeFile(const std::filesystem::path& path)
{
    std::error_code error;
    std::filesystem::remove(path, error);
    if (error)
        return fileError("delete", path, error);
    return {};
}

Status removeBank(const std::filesystem::path& path)
{
    const std::filesystem::path target = linkTarget(path);
    const std::string ending = '.' + textFromPath(path.filename());
    if (!target.empty() && textFromPath(target.filename()).ends_with(ending))
        WASTE_TRY_STATUS(removeFile(target));
    return removeFile(path);
}

Result<bool> isThere(const std::filesystem::path& path)
{
    std::error_code error;
    const bool exists = std::filesystem::exists(path, error);
    if (error)
        return fileError("find", path, error);
    return exists;
}

Result<std::vector<std::filesystem::path>> listFolder(const std::filesystem::path& folder)
{
    std::vector<std::filesystem::path> entries;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
        entries.push_back(entry->path());
    if (error)
        return fileError("read", folder, error);
    return entries;
}

} // namespace waste
