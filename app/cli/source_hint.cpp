#include "cli/source_hint.h"

#include "waste/files.h"

#include <string_view>
#include <system_error>

namespace waste::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWanted = "name the folder of a published checkpoint, with config.json and *.safetensors";

bool isThere(const fs::path& file)
{
    std::error_code error;
    return fs::exists(file, error);
}

bool holdsFilesLike(const fs::path& folder, std::string_view extension)
{
    std::error_code error;
    for (fs::directory_iterator file(folder, error), end; !error && file != end; file.increment(error)) {
        if (file->path().extension() == extension)
            return true;
    }
    return false;
}

std::string hintOnFile(const fs::path& file)
{
    if (file.extension() == ".gguf")
        return "a GGUF file holds weights that were quantised already and cannot be converted; " + std::string(kWanted);
    if (file.extension() == ".safetensors")
        return "this is one file of a checkpoint; name the folder that holds it";
    return "this is a file; " + std::string(kWanted);
}

} // namespace

std::string hintOnSource(const fs::path& source)
{
    std::error_code error;
    if (fs::is_regular_file(source, error))
        return hintOnFile(source);
    if (!fs::is_directory(source, error))
        return {};
    if (isThere(source / "manifest.json") && isThere(source / "trunk.bin"))
        return "this model is converted already; `waste chat \"" + textOfPath(source) + "\"` talks to it";
    const bool hasConfig = isThere(source / "config.json");
    if (hasConfig && (isThere(source / "model.safetensors.index.json") || isThere(source / "model.safetensors")))
        return {};
    if (holdsFilesLike(source, ".gguf"))
        return "this folder holds GGUF files, whose weights were quantised already and cannot be converted; "
            + std::string(kWanted);
    if (hasConfig && holdsFilesLike(source, ".bin"))
        return "this checkpoint's weights are PyTorch files (*.bin); take its safetensors release";
    if (hasConfig && holdsFilesLike(source, ".safetensors"))
        return "model.safetensors.index.json is missing, which says what lies in which of the shards; download it too";
    return hasConfig ? "this folder has a config.json but no safetensors files: is the download complete?"
                     : "this folder holds no checkpoint; " + std::string(kWanted);
}

} // namespace waste::cli
