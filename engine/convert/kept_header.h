#pragma once

#include "checkpoint/checkpoint_files.h"

#include <optional>
#include <string>
#include <string_view>

namespace waste {

// A shard's header as the work folder keeps it, for when the shard is deleted: the file's size in decimal, a line feed,
// and the header's text.
std::string keptHeaderText(const CheckpointFiles::ShardHeader& header);
std::optional<CheckpointFiles::ShardHeader> parseKeptHeader(std::string_view text);

} // namespace waste
