#pragma once

#include "convert/conversion_progress.h"
#include "platform/file_lock.h"
#include "waste/result.h"

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace waste {

// The folder kConversionFolder inside the container that is being made: unfinished files and what a later run needs to
// go on. Whoever holds it is the only one who changes the container.
//
// A name appears in the folder or in the container only with its whole content, on the device: files are
// written elsewhere, flushed and renamed. So the state on disk is the only state.
//
// Everything that is written or renamed here waits for room on a full drive, see space_wait.h.
class WorkFolder {
public:
    // Makes target and folder as needed. Errors: Busy (another conversion holds it), Io.
    // `progress` is told of waits and outlives the folder.
    static Result<WorkFolder> open(const std::filesystem::path& target, const ConversionProgress& progress);

    [[nodiscard]] const std::filesystem::path& target() const { return m_target; }
    [[nodiscard]] std::filesystem::path path(std::string_view name) const { return m_folder / name; }

    // A small file of the folder, replaced as a whole.
    [[nodiscard]] Status write(std::string_view name, std::span<const std::byte> content) const;
    [[nodiscard]] Status write(std::string_view name, std::string_view text) const;
    // Moves a complete, flushed file of the folder into the container, over what has that name there.
    [[nodiscard]] Status publish(std::string_view name, std::string_view targetName) const;
    // write() and publish() in one.
    [[nodiscard]] Status writeTarget(std::string_view targetName, std::span<const std::byte> content) const;

    // Renames within folder and container, and makes the new name durable.
    [[nodiscard]] Status rename(const std::filesystem::path& from, const std::filesystem::path& to) const;

    // Deletes everything in the folder but the lock.
    [[nodiscard]] Status clear() const;
    // Deletes the folder. Call when the container is complete.
    static Status remove(WorkFolder folder);
    // The same if nothing was written into it: a target that is refused stays as it was.
    static Status removeUnused(WorkFolder folder);

private:
    WorkFolder(
        std::filesystem::path target, std::filesystem::path folder, FileLock lock, const ConversionProgress& progress);
    [[nodiscard]] Status writeAll(const std::filesystem::path& path, std::span<const std::byte> content) const;

    std::filesystem::path m_target;
    std::filesystem::path m_folder;
    FileLock m_lock;
    const ConversionProgress* m_progress;
};

// Removes a file if it exists.
Status removeFile(const std::filesystem::path& path);
// Removes a file, or a link together with the bank on another drive that it stands for. Links that others made are
// known by the name of what they point at, which stays.
Status removeBank(const std::filesystem::path& path);
// Whether there is something of that name. What cannot be found out is an error (Io), not a no.
Result<bool> isThere(const std::filesystem::path& path);
// What is in a folder, in no order.
Result<std::vector<std::filesystem::path>> listFolder(const std::filesystem::path& folder);

} // namespace waste
