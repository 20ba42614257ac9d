#pragma once

#include <span>
#include <string_view>

namespace waste {

class Tokenizer;

// Conversation templates that are known to fit (spec: chat 7), as the text of a chat.json.
struct TemplatePreset {
    std::string_view name; // "k3-plain", "chatml", "kimi-k2"
    std::string_view json;
};

std::span<const TemplatePreset> templatePresets();

// The preset that the converter installs for an architecture ("kimi-k3", "kimi-linear"); null: none is known.
const TemplatePreset* presetForArchitecture(std::string_view architecture);

// The preset whose control tokens the model has all of; null: none fits.
const TemplatePreset* presetForTokenizer(const Tokenizer& tokenizer);

} // namespace waste
