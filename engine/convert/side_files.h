#pragma once

#include "checkpoint/checkpoint_files.h"
#include "convert/work_folder.h"
#include "waste/result.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace waste {

// Files beside the weights that a conversion writes where the checkpoint has their content (spec: container 10).
// chat.json is another matter: it is a person's to change and never replaced.
inline constexpr std::array<std::string_view, 5> kSideFiles = {
    "tokenizer.model", "specials.json", "vision.json", "generation_config.json", "chat_template.jinja"};

// `architecture` chooses the preset for chat.json. `vocabularySize` bounds the ids of special tokens. Warnings
// are sentences. Errors: Corrupt naming the file, Io, NoSpace.
Status writeSideFiles(const CheckpointFiles& files, std::string_view architecture, std::uint32_t vocabularySize,
    const WorkFolder& folder, std::vector<std::string>& warnings);

} // namespace waste
