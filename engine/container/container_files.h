#pragma once

#include "container/manifest.h"
#include "waste/result.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace waste {

// An opened `.waste` directory: everything that can be checked without reading weights has been checked
// (spec: container 13), nothing is resident, no file is kept open.
struct ContainerFiles {
    // Files beside the weights (spec: container 10); an empty path means that the file does not exist.
    struct SideFiles {
        std::filesystem::path tokenizer; // tokenizer.model, or tiktoken.model
        std::filesystem::path specials; // specials.json
        std::filesystem::path vision; // vision.json
        std::filesystem::path chat; // chat.json
        std::filesystem::path generationConfig; // generation_config.json
        std::filesystem::path chatTemplate; // chat_template.jinja
        std::filesystem::path usage; // usage.waste
    };

    std::filesystem::path directory;
    Manifest manifest;
    SideFiles sideFiles;
    std::uint64_t totalBytes = 0; // of all files in the directory
    std::vector<std::string> warnings; // sentences for the log; the container is usable

    // Errors: NotFound (no such directory, or no manifest.json in it), Io, Corrupt, Unsupported.
    static Result<ContainerFiles> open(const std::filesystem::path& directory);

    // Whether a directory claims to be a container: it holds a manifest.json. Io where that cannot be found out.
    static Result<bool> isContainer(const std::filesystem::path& directory);
};

} // namespace waste
