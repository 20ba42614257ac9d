#include "tokens/special_tokens.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <span>

namespace waste {

namespace {

constexpr std::size_t kBlockSize = 256;
constexpr std::int64_t kIdEnd = 1 << 24;
// Keeps the search for special texts linear in the text whatever a file says. Real names have 30 bytes.
constexpr std::size_t kTextBytesMax = 1024;

Error corrupt(std::string_view file, const std::string& what)
{
    return {ErrorCode::Corrupt, "", std::string(file) + ": " + what};
}

// Nothing we read lies deeper than the text of an added token; what does is dropped unbuilt.
nlohmann::json parseShallow(std::string_view json)
{
    constexpr int kDepthMax = 3;
    const auto keep = [](int depth, nlohmann::json::parse_event_t, nlohmann::json&) { return depth <= kDepthMax; };
    return nlohmann::json::parse(json, keep, false);
}

std::string reservedName(std::size_t id)
{
    return "<|reserved_token_" + std::to_string(id) + "|>";
}

std::optional<std::int64_t> idOf(const nlohmann::json& value)
{
    if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<std::uint64_t>() >= kIdEnd))
        return std::nullopt;
    return value.get<std::int64_t>();
}

std::optional<std::int64_t> idOf(std::string_view key)
{
    std::int64_t id = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size())
        return std::nullopt;
    return id;
}

Status checkToken(std::optional<std::int64_t> id, const nlohmann::json* text, std::string_view file,
    const std::string& place, std::size_t rankedCount)
{
    if (!id || *id >= kIdEnd)
        return corrupt(file, place + " has no id below 16777216");
    if (*id < static_cast<std::int64_t>(rankedCount))
        return corrupt(file, place + " has id " + std::to_string(*id) + ", which would hide a ranked token");
    if (text == nullptr || !text->is_string())
        return corrupt(file, place + " has no text");
    const auto& name = text->get_ref<const std::string&>();
    if (name.empty() || name.size() > kTextBytesMax)
        return corrupt(file, place + " has a text that is empty or longer than 1024 bytes");
    return {};
}

const nlohmann::json* member(const nlohmann::json& object, const char* key)
{
    if (!object.is_object())
        return nullptr;
    const auto found = object.find(key);
    return found != object.end() ? &*found : nullptr;
}

} // namespace

Result<SpecialTokens> SpecialTokens::fromSpecialsFile(
    std::string_view json, std::string_view file, std::size_t rankedCount)
{
    const nlohmann::json root = parseShallow(json);
    if (!root.is_array())
        return corrupt(file, "is not a JSON array");
    std::vector<Token> named;
    for (std::size_t i = 0; i < root.size(); ++i) {
        const nlohmann::json* idValue = member(root[i], "id");
        const nlohmann::json* text = member(root[i], "text");
        const auto id = idValue != nullptr ? idOf(*idValue) : std::nullopt;
        WASTE_TRY_STATUS(checkToken(id, text, file, "entry " + std::to_string(i), rankedCount));
        named.push_back({text->get<std::string>(), static_cast<TokenId>(*id)});
    }
    return build(std::move(named), file, rankedCount);
}

Result<SpecialTokens> SpecialTokens::fromTokenizerConfig(
    std::string_view json, std::string_view file, std::size_t rankedCount)
{
    const nlohmann::json root = parseShallow(json);
    if (!root.is_object())
        return corrupt(file, "is not a JSON object");
    std::vector<Token> named;
    if (const nlohmann::json* decoder = member(root, "added_tokens_decoder")) {
        if (!decoder->is_object())
            return corrupt(file, "added_tokens_decoder is not an object");
        for (const auto& [key, value] : decoder->items()) {
            const nlohmann::json* text = member(value, "content");
            const auto id = idOf(std::string_view(key));
            WASTE_TRY_STATUS(checkToken(id, text, file, "added token \"" + key + '"', rankedCount));
            named.push_back({text->get<std::string>(), static_cast<TokenId>(*id)});
        }
    }
    return build(std::move(named), file, rankedCount);
}

SpecialTokens SpecialTokens::unnamed(std::size_t rankedCount)
{
    return std::move(*build({}, {}, rankedCount));
}

Result<SpecialTokens> SpecialTokens::build(std::vector<Token> named, std::string_view file, std::size_t rankedCount)
{
    SpecialTokens specials;
    specials.m_tokens = std::move(named);
    std::bitset<kBlockSize> isNamed;
    for (const Token& token : specials.m_tokens) {
        const std::size_t place = static_cast<std::size_t>(token.id) - rankedCount;
        if (place < kBlockSize)
            isNamed.set(place);
    }
    for (std::size_t i = 0; i < kBlockSize; ++i) {
        if (!isNamed[i])
            specials.m_tokens.push_back({reservedName(rankedCount + i), static_cast<TokenId>(rankedCount + i)});
    }

    std::vector<Token>& tokens = specials.m_tokens;
    const auto textLess = [](const Token& a, const Token& b) { return a.text < b.text; };
    std::sort(tokens.begin(), tokens.end(), textLess);
    for (std::size_t i = 1; i < tokens.size(); ++i) {
        if (tokens[i - 1].text == tokens[i].text)
            return corrupt(file, "the text \"" + tokens[i].text + "\" belongs to two ids");
    }
    specials.m_byId.resize(tokens.size());
    std::iota(specials.m_byId.begin(), specials.m_byId.end(), 0U);
    const auto idLess = [&](std::uint32_t a, std::uint32_t b) { return tokens[a].id < tokens[b].id; };
    std::sort(specials.m_byId.begin(), specials.m_byId.end(), idLess);
    for (std::size_t i = 1; i < tokens.size(); ++i) {
        const Token& token = tokens[specials.m_byId[i]];
        if (tokens[specials.m_byId[i - 1]].id == token.id)
            return corrupt(file, "id " + std::to_string(token.id) + " has two texts");
    }
    for (const Token& token : tokens)
        specials.m_firstBytes.set(static_cast<std::uint8_t>(token.text.front()));
    return specials;
}

std::optional<TokenId> SpecialTokens::find(std::string_view text) const
{
    const auto before = [](const Token& token, std::string_view wanted) { return token.text < wanted; };
    const auto found = std::lower_bound(m_tokens.begin(), m_tokens.end(), text, before);
    if (found == m_tokens.end() || found->text != text)
        return std::nullopt;
    return found->id;
}

std::optional<std::string_view> SpecialTokens::text(TokenId id) const
{
    const auto before = [this](std::uint32_t index, TokenId wanted) { return m_tokens[index].id < wanted; };
    const auto found = std::lower_bound(m_byId.begin(), m_byId.end(), id, before);
    if (found == m_byId.end() || m_tokens[*found].id != id)
        return std::nullopt;
    return m_tokens[*found].text;
}

std::optional<SpecialTokens::Occurrence> SpecialTokens::findIn(std::string_view text, std::size_t offset) const
{
    for (; offset < text.size(); ++offset) {
        if (!m_firstBytes[static_cast<std::uint8_t>(text[offset])])
            continue;
        if (const auto found = longestAt(text, offset))
            return found;
    }
    return std::nullopt;
}

// Narrows the sorted tokens to those that share one more byte with the text at each step.
std::optional<SpecialTokens::Occurrence> SpecialTokens::longestAt(std::string_view text, std::size_t offset) const
{
    std::optional<Occurrence> longest;
    std::span<const Token> shared = m_tokens;
    for (std::size_t depth = 0; offset + depth < text.size(); ++depth) {
        // Of the tokens that share `depth` bytes the one that ends there was the first.
        const auto next = static_cast<std::uint8_t>(text[offset + depth]);
        const auto byteAt = [depth](const Token& token) { return static_cast<std::uint8_t>(token.text[depth]); };
        const auto first = std::partition_point(shared.begin(), shared.end(),
            [&](const Token& token) { return token.text.size() == depth || byteAt(token) < next; });
        const auto last =
            std::partition_point(first, shared.end(), [&](const Token& token) { return byteAt(token) == next; });
        shared = {first, last};
        if (shared.empty())
            break;
        if (shared.front().text.size() == depth + 1)
            longest = Occurrence{offset, depth + 1, shared.front().id};
    }
    return longest;
}

} // namespace waste
