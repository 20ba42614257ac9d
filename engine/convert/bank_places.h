#pragma once

#include "convert/work_folder.h"
#include "waste/converter.h"
#include "waste/result.h"

#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace waste {

// Where the banks of a container are written: into its own folder and, with ConvertOptions::bankFolders, into folders
// on other drives, in turn. There a bank has the container's name before its own, and in the container stands a
// symbolic link to it, which every reader of the format follows.
//
// The link is made in the work folder, before the bank behind it is written, and moves into the container when that is
// complete. So a name in the container always stands for a whole bank, and no bank is without a name.
class BankPlaces {
public:
    // The folders exist: one that is missing may be on a drive that is not connected. Errors: NotFound,
    // InvalidArgument (a folder inside of the container or of the source), Io.
    static Result<BankPlaces> open(const ConvertOptions& options);

    // The folder whose drive a bank of the plan, counted from 0, takes room of.
    [[nodiscard]] const std::filesystem::path& folderOf(std::size_t bank) const
    {
        return m_folders[bank % m_folders.size()];
    }

    // Makes `workPath` a name that writes to the bank's place. `published` is the bank's name in the container: what
    // that is a link to may be written over. Errors: InvalidArgument (a file of somebody else is there), Io, NoSpace.
    [[nodiscard]] Status prepare(
        std::size_t bank, const std::filesystem::path& workPath, const std::filesystem::path& published) const;
    // Makes the name of a bank that was written behind `workPath` durable.
    [[nodiscard]] Status flush(const std::filesystem::path& workPath) const;

private:
    explicit BankPlaces(std::string containerName)
        : m_containerName(std::move(containerName))
    {
    }

    std::string m_containerName;
    std::vector<std::filesystem::path> m_folders; // the container's own is the first; the others absolute
};

} // namespace waste
