#include "prompt/template_presets.h"

#include "prompt/template_format.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace waste {

namespace {

constexpr std::array kPresets{
    TemplatePreset{"k3-plain",
        R"({"system": ["<|open|>message role=\"system\"<|sep|>", "<|close|>message<|sep|><|end_of_msg|>"],
 "user": ["<|open|>message role=\"user\"<|sep|>", "<|close|>message<|sep|><|end_of_msg|>"],
 "assistant": ["<|open|>message role=\"assistant\"<|sep|><|open|>response<|sep|>", "<|close|>response<|sep|><|close|>message<|sep|><|end_of_msg|>"],
 "open": "<|open|>message role=\"assistant\"<|sep|><|open|>response<|sep|>"}
)"},
    TemplatePreset{"kimi-k2",
        R"({"system": ["<|im_system|>system<|im_middle|>", "<|im_end|>"],
 "user": ["<|im_user|>user<|im_middle|>", "<|im_end|>"],
 "assistant": ["<|im_assistant|>assistant<|im_middle|>", "<|im_end|>"],
 "open": "<|im_assistant|>assistant<|im_middle|>"}
)"},
    TemplatePreset{"chatml",
        R"({"system": ["<|im_start|>system\n", "<|im_end|>\n"],
 "user": ["<|im_start|>user\n", "<|im_end|>\n"],
 "assistant": ["<|im_start|>assistant\n", "<|im_end|>\n"],
 "open": "<|im_start|>assistant\n"}
)"},
};

const TemplatePreset* presetNamed(std::string_view name)
{
    const auto found =
        std::find_if(kPresets.begin(), kPresets.end(), [&](const auto& preset) { return preset.name == name; });
    return found != kPresets.end() ? &*found : nullptr;
}

} // namespace

std::span<const TemplatePreset> templatePresets()
{
    return kPresets;
}

const TemplatePreset* presetForArchitecture(std::string_view architecture)
{
    if (architecture == "kimi-k3")
        return presetNamed("k3-plain");
    if (architecture == "kimi-linear")
        return presetNamed("kimi-k2");
    return nullptr;
}

const TemplatePreset* presetForTokenizer(const Tokenizer& tokenizer)
{
    for (const TemplatePreset& preset : kPresets) {
        const auto parsed = ChatTemplate::parse(preset.json, preset.name);
        assert(parsed);
        if (unknownControlTokens(*parsed, tokenizer).empty())
            return &preset;
    }
    return nullptr;
}

} // namespace waste
