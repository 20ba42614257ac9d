#include "prompt/typed_value.h"

#include "prompt/blanks.h"
#include "prompt/json_text.h"

#include <algorithm>

namespace waste {

namespace {

std::string asString(std::string_view text)
{
    std::string json;
    appendJsonString(json, text);
    return json;
}

std::string asBoolean(std::string_view text)
{
    std::string word(trimBlanks(text));
    std::transform(word.begin(), word.end(), word.begin(),
        [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return word == "true" || word == "false" ? word : asString(text);
}

} // namespace

std::string typedValueJson(std::string_view type, std::string_view text)
{
    if (type == "string")
        return asString(text);
    if (type == "null")
        return "null";
    if (type == "boolean")
        return asBoolean(text);
    const auto value = parseJson(trimBlanks(text), JsonDialect::Strict);
    return value ? writeJson(*value, JsonStyle::Spaced) : asString(text);
}

} // namespace waste
