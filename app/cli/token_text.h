#pragma once

#include "waste/tokenizer.h"

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <string>

namespace waste::cli {

struct EngineFlags;

// The tokenizer of the model that the flags name; no engine is opened.
Result<std::shared_ptr<const Tokenizer>> openTokenizer(const EngineFlags& flags);

// Adds `key`, and where the text is not well-formed UTF-8 also "bytes" with what it really is (spec: cli B.2).
void addText(nlohmann::ordered_json& object, const char* key, std::string_view bytes);

// As a JSON string, ill-formed parts as U+FFFD: how a token is shown on one line.
std::string jsonString(std::string_view bytes);

} // namespace waste::cli
