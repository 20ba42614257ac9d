#include "container/part_file.h"

#include "container/error_reasons.h"
#include "platform/file_facts.h"
#include "platform/path_text.h"

#include <string>
#include <utility>

namespace waste {

Result<DirectFile> openPart(const std::filesystem::path& directory, std::string_view name, DirectFile::Access access)
{
    const std::filesystem::path path = directory / pathFromText(name);
    auto file = DirectFile::open(path, access);
    if (const std::string sentence = file ? std::string() : brokenLink(path); !sentence.empty())
        return reason::corrupt(reason::kMissingFile, sentence + ".");
    if (!file && file.error().code == ErrorCode::NotFound)
        return reason::corrupt(reason::kMissingFile,
            textFromPath(path) + " is missing. Copy the container again, or convert the model again.");
    return file;
}

std::string brokenLink(const std::filesystem::path& path)
{
    const std::filesystem::path target = linkTarget(path);
    std::error_code error;
    if (target.empty() || std::filesystem::exists(target, error))
        return {};
    return textFromPath(path) + " is a link to " + textFromPath(target)
        + ", which is not there. Connect the drive that holds it";
}

bool isPlainFileName(std::string_view name)
{
    return !name.empty() && name != "." && name != ".."
        && name.find_first_of(std::string_view("/\\:\0", 4)) == std::string_view::npos;
}

} // namespace waste
