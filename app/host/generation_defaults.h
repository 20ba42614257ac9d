#pragma once

#include "waste/result.h"
#include "waste/session.h"

#include <filesystem>
#include <string_view>

namespace waste::host {

// How the makers of a model want it sampled: `generation_config.json` beside the weights (`temperature`,
// `top_p`, `top_k`, `do_sample`); without that file or without any of the four in it temperature 1 and
// top-p 0.95 for K3, greedy for every other model (spec: cli B.4).
//
// Errors, which keep no model from answering with usualSampling(): Corrupt for a file that is not one JSON object or
// holds values out of range.
Result<SamplingOptions> recommendedSampling(const std::filesystem::path& model, std::string_view architecture);

// Without the file.
SamplingOptions usualSampling(std::string_view architecture);

} // namespace waste::host
