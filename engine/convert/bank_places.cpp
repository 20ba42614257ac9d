#include "convert/bank_places.h"

#include "platform/file_error.h"
#include "platform/file_facts.h"
#include "platform/output_file.h"
#include "platform/path_text.h"

#include <algorithm>
#include <system_error>

namespace waste {
namespace {

bool isInside(const std::filesystem::path& inner, const std::filesystem::path& outer)
{
    const auto [end, ignored] = std::ranges::mismatch(outer, inner);
    return end == outer.end();
}

Result<std::filesystem::path> realPath(const std::filesystem::path& path)
{
    std::error_code error;
    std::filesystem::path real = std::filesystem::weakly_canonical(path, error);
    if (error)
        return fileError("find", path, error);
    return real.has_filename() ? real : real.parent_path();
}

} // namespace

Result<BankPlaces> BankPlaces::open(const ConvertOptions& options)
{
    WASTE_TRY(const std::filesystem::path container, realPath(options.target));
    WASTE_TRY(const std::filesystem::path source, realPath(options.source));
    BankPlaces places(textFromPath(container.filename()));
    places.m_folders.push_back(options.target);
    for (const std::filesystem::path& given : options.bankFolders) {
        WASTE_TRY(std::filesystem::path folder, realPath(given));
        if (isInside(folder, container) || isInside(folder, source))
            return Error{ErrorCode::InvalidArgument, "",
                textFromPath(given)
                    + " lies inside of the model or of the checkpoint; choose a folder of its own, on another drive"};
        std::error_code error;
        if (!std::filesystem::is_directory(folder, error))
            return Error{ErrorCode::NotFound, "not_found",
                textFromPath(given) + " does not exist. Connect the drive, or make the folder first"};
        places.m_folders.push_back(std::move(folder));
    }
    return places;
}

Status BankPlaces::prepare(
    std::size_t bank, const std::filesystem::path& workPath, const std::filesystem::path& published) const
{
    WASTE_TRY_STATUS(removeBank(workPath)); // what an earlier run has not finished
    const std::filesystem::path& folder = folderOf(bank);
    if (&folder == &m_folders.front())
        return {};
    const std::filesystem::path place =
        folder / pathFromText(m_containerName + '.' + textFromPath(workPath.filename()));
    WASTE_TRY(const bool isTaken, isThere(place));
    if (isTaken && linkTarget(published) != place)
        return Error{ErrorCode::InvalidArgument, "",
            textFromPath(place)
                + " is there already and belongs to another model; choose another folder for experts, or delete it"};
    std::error_code error;
    std::filesystem::create_symlink(place, workPath, error);
    if (error)
        return fileError("make a link at", workPath, error);
    return {};
}

Status BankPlaces::flush(const std::filesystem::path& workPath) const
{
    const std::filesystem::path place = linkTarget(workPath);
    return place.empty() ? Status() : flushDirectory(place.parent_path());
}

} // namespace waste
