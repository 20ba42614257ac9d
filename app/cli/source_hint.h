#pragma once

#include <filesystem>
#include <string>

namespace waste::cli {

// What somebody took for a checkpoint, by the looks of it, and what to name instead: a converted model, a GGUF file,
// one shard, a folder without weights. Empty for a checkpoint, and for a place that is not there.
std::string hintOnSource(const std::filesystem::path& source);

} // namespace waste::cli
