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

Status readPart(const DirectFile& file, std::uint64_t offsetBytes, std::span<std::byte> target, std::size_t bytes)
{
    Status status = file.readAtLeast(offsetBytes, target, bytes);
    if (!status && status.error().reason == reason::kShortFile)
        status.error().message += ". Copy this file again, or convert the model again.";
    return status;
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
