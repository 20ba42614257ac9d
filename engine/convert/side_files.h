#pragma once

#include "checkpoint/checkpoint_files.h"
#include "convert/work_folder.h"
#include "waste/result.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace waste {

// Files beside the weights that a conversion writes where the checkpoint has their content (spec: container 10).
// chat.json is another matter: it is a person's to change and never replaced.
inline constexpr std::array<std::string_view, 5> kSideFiles = {
    "tokenizer.model", "specials.json", "vision.json", "generation_config.json", "chat_template.jinja"};
inline constexpr std::string_view kChatFile = "chat.json";

struct SideFile {
    std::string_view name; // of kSideFiles, or kChatFile
    std::string content;
};

struct SideFileOptions {
    std::string_view architecture; // chooses the preset for chat.json
    std::uint32_t vocabularySize = 0; // bounds the ids of special tokens
    std::uint32_t hiddenSize = 0; // what pictures are turned into
};

// Reads everything that they are made of, and everything that is made through the eyes of who will read it: a
// tokenizer that does not open must be heard of before hours of work, not after. Warnings are sentences.
// Errors: Corrupt naming the file, Io.
Result<std::vector<SideFile>> composeSideFiles(
    const CheckpointFiles& files, const SideFileOptions& options, std::vector<std::string>& warnings);

// A chat.json that is there stays as it is. Errors: Io, NoSpace.
Status writeSideFile(const SideFile& file, const WorkFolder& folder);

} // namespace waste
