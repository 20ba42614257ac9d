#pragma once

#include "waste/converter.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

namespace waste::test {

enum class WideFamily : std::uint8_t { KimiLinear, KimiK3 };

// A model with the layer widths of its release, but only as many layers and experts as are asked for. Speed is
// a matter of widths: what holds for a few layers of these holds for all of them.
struct WideModel {
    WideFamily family = WideFamily::KimiLinear;
    std::uint32_t layerCount = 4; // the first is dense; 1 to 128
    std::uint32_t expertCount = 0; // a layer; 0: as released (256 and 896). At least those of one token
    std::uint32_t vocabularySize = 163840; // at least 1024
    ExpertFormat expertFormat = ExpertFormat::Vq3r;
    std::uint64_t seed = 1;
};

// The model's config.json.
nlohmann::json wideConfig(const WideModel& model);

// tokenizer.model: every single byte, then texts of two and three characters, so that every id is a text.
std::string wideRankFile(const WideModel& model);
// specials.json: what the family's chat format needs.
std::string wideSpecials(const WideModel& model);

} // namespace waste::test
