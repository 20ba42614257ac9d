#include "checkpoint/json_file.h"

#include <string>

namespace waste {
namespace {

constexpr std::size_t kDepthMax = 64;

// Brackets outside strings, counted before a parser sees the text. Ill-formed text is the parser's business.
bool isNestedTooDeeply(std::string_view text)
{
    std::size_t depth = 0;
    bool inString = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (inString) {
            if (c == '\\')
                ++i;
            else if (c == '"')
                inString = false;
        } else if (c == '"') {
            inString = true;
        } else if (c == '{' || c == '[') {
            if (++depth > kDepthMax)
                return true;
        } else if ((c == '}' || c == ']') && depth > 0) {
            --depth;
        }
    }
    return false;
}

} // namespace

Result<nlohmann::json> parseJsonObject(
    std::string_view text, std::string_view file, const nlohmann::json::parser_callback_t& keep)
{
    const std::string name(file);
    if (isNestedTooDeeply(text))
        return Error{ErrorCode::Corrupt, "", name + ": values are nested more than 64 deep"};
    nlohmann::json root = nlohmann::json::parse(text, keep, false);
    if (!root.is_object())
        return Error{ErrorCode::Corrupt, "", name + " is not a valid JSON object"};
    return root;
}

} // namespace waste
