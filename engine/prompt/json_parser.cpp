#include "base/utf8.h"
#include "prompt/json_number.h"
#include "prompt/json_text.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace waste {

namespace {

using Kind = JsonValue::Kind;

// Keeps the last value of a repeated key at the position of the first. Sorting instead of a set: a text
// cannot be written so that it takes quadratic time.
void dropRepeatedKeys(std::vector<JsonMember>& members)
{
    std::vector<std::size_t> order(members.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto keyLess = [&](std::size_t a, std::size_t b) { return members[a].key < members[b].key; };
    std::stable_sort(order.begin(), order.end(), keyLess);
    std::vector<bool> dropped(members.size());
    bool anyDropped = false;
    for (std::size_t first = 0; first < order.size();) {
        std::size_t last = first;
        while (last + 1 < order.size() && members[order[last + 1]].key == members[order[first]].key)
            dropped[order[++last]] = true;
        if (last > first) {
            std::swap(members[order[first]].value, members[order[last]].value);
            anyDropped = true;
        }
        first = last + 1;
    }
    if (!anyDropped)
        return;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < members.size(); ++i) {
        if (dropped[i])
            continue;
        if (kept != i)
            members[kept] = std::move(members[i]);
        ++kept;
    }
    members.resize(kept);
}

// Whether a character inside a string has a meaning of its own or is not allowed.
bool endsPlainText(char c)
{
    return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20;
}

// Recursive descent; the depth is limited before each step down.
class Parser {
public:
    Parser(std::string_view text, JsonDialect dialect)
        : m_text(text)
        , m_dialect(dialect)
    {
    }

    Result<JsonValue> parseDocument()
    {
        if (!isWellFormedUtf8(m_text))
            return Error{ErrorCode::InvalidArgument, "", "the JSON text is not UTF-8"};
        JsonValue value;
        skipBlanks();
        if (parseValue(value)) {
            skipBlanks();
            if (m_offset == m_text.size())
                return value;
            fail("something stands behind the end of the JSON text");
        }
        return m_error;
    }

private:
    // Every parse function returns false after fail().
    bool parseValue(JsonValue& value);
    bool parseArray(JsonValue& value);
    bool parseObject(JsonValue& value);
    bool parseString(std::string& text);
    bool parseEscape(std::string& text);
    std::optional<char32_t> parseHexDigits();
    bool parseNumber(JsonValue& value);
    bool parseWord(JsonValue& value);

    bool fail(const char* what, const char* reason = "")
    {
        m_error = {
            ErrorCode::InvalidArgument, reason, std::string(what) + " (at byte " + std::to_string(m_offset) + ')'};
        return false;
    }
    [[nodiscard]] char peek() const { return m_offset < m_text.size() ? m_text[m_offset] : '\0'; }
    bool skip(std::string_view expected)
    {
        if (!m_text.substr(m_offset).starts_with(expected))
            return false;
        m_offset += expected.size();
        return true;
    }
    void skipBlanks() { m_offset = std::min(m_text.find_first_not_of(" \t\r\n", m_offset), m_text.size()); }
    bool enter() { return ++m_depth <= kJsonDepthMax || fail("values are nested more than 256 deep", "too_large"); }

    const std::string_view m_text;
    const JsonDialect m_dialect;
    std::size_t m_offset = 0;
    std::size_t m_depth = 0;
    std::size_t m_valueCount = 0;
    Error m_error;
};

bool Parser::parseValue(JsonValue& value)
{
    if (++m_valueCount > kJsonValuesMax)
        return fail("the JSON text has more than a million values", "too_large");
    switch (peek()) {
    case '{':
        return parseObject(value);
    case '[':
        return parseArray(value);
    case '"':
        value.kind = Kind::String;
        return parseString(value.text);
    default:
        return parseWord(value) || parseNumber(value);
    }
}

bool Parser::parseArray(JsonValue& value)
{
    if (!enter())
        return false;
    value.kind = Kind::Array;
    ++m_offset;
    skipBlanks();
    while (!skip("]")) {
        if (!value.items.empty()) {
            if (!skip(","))
                return fail("a comma or ] is missing");
            skipBlanks();
        }
        if (!parseValue(value.items.emplace_back()))
            return false;
        skipBlanks();
    }
    --m_depth;
    return true;
}

bool Parser::parseObject(JsonValue& value)
{
    if (!enter())
        return false;
    value.kind = Kind::Object;
    ++m_offset;
    skipBlanks();
    while (!skip("}")) {
        if (!value.members.empty()) {
            if (!skip(","))
                return fail("a comma or } is missing");
            skipBlanks();
        }
        JsonMember& member = value.members.emplace_back();
        if (peek() != '"')
            return fail("a key in quotes is missing");
        if (!parseString(member.key))
            return false;
        skipBlanks();
        if (!skip(":"))
            return fail("a colon is missing");
        skipBlanks();
        if (!parseValue(member.value))
            return false;
        skipBlanks();
    }
    --m_depth;
    dropRepeatedKeys(value.members);
    return true;
}

bool Parser::parseString(std::string& text)
{
    ++m_offset;
    while (true) {
        std::size_t end = m_offset;
        while (end < m_text.size() && !endsPlainText(m_text[end]))
            ++end;
        text += m_text.substr(m_offset, end - m_offset);
        m_offset = end;
        if (skip("\""))
            return true;
        if (m_offset == m_text.size())
            return fail("a string has no end");
        if (!skip("\\"))
            return fail("a control character stands in a string");
        if (!parseEscape(text))
            return false;
    }
}

bool Parser::parseEscape(std::string& text)
{
    constexpr std::string_view kShort = "\"\\/bfnrt";
    constexpr std::string_view kMeaning = "\"\\/\b\f\n\r\t";
    const std::size_t place = m_offset < m_text.size() ? kShort.find(m_text[m_offset]) : std::string_view::npos;
    if (place != std::string_view::npos) {
        text += kMeaning[place];
        ++m_offset;
        return true;
    }
    auto unit = skip("u") ? parseHexDigits() : std::nullopt;
    if (!unit)
        return fail("an escape in a string is not valid");
    if (*unit >= 0xD800 && *unit < 0xDC00) {
        const std::size_t behindFirst = m_offset;
        const auto second = skip("\\u") ? parseHexDigits() : std::nullopt;
        if (second && *second >= 0xDC00 && *second < 0xE000)
            unit = 0x10000 + ((*unit - 0xD800) << 10) + (*second - 0xDC00);
        else
            m_offset = behindFirst; // what follows is an escape of its own
    }
    if (*unit >= 0xD800 && *unit < 0xE000)
        text += kReplacementCharacter;
    else
        appendUtf8(text, *unit);
    return true;
}

std::optional<char32_t> Parser::parseHexDigits()
{
    char32_t value = 0;
    const std::string_view digits = m_text.substr(m_offset, 4);
    if (digits.size() < 4)
        return std::nullopt;
    for (const char digit : digits) {
        const std::size_t place = std::string_view("0123456789abcdefABCDEF").find(digit);
        if (place == std::string_view::npos)
            return std::nullopt;
        value = value * 16 + static_cast<char32_t>(place < 16 ? place : place - 6);
    }
    m_offset += 4;
    return value;
}

bool Parser::parseNumber(JsonValue& value)
{
    const std::size_t length = jsonNumberLength(m_text.substr(m_offset));
    if (length == 0)
        return fail("this is not a JSON value");
    auto number = canonicalJsonNumber(m_text.substr(m_offset, length), m_dialect == JsonDialect::Lenient);
    if (!number)
        return fail("a number is too large");
    value.kind = Kind::Number;
    value.text = std::move(*number);
    m_offset += length;
    return true;
}

bool Parser::parseWord(JsonValue& value)
{
    if (skip("null"))
        return true;
    const bool isTrue = skip("true");
    if (isTrue || skip("false")) {
        value.kind = Kind::Boolean;
        value.boolean = isTrue;
        return true;
    }
    if (m_dialect == JsonDialect::Strict)
        return false;
    for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
        if (skip(word)) {
            value.kind = Kind::Number;
            value.text = word;
            return true;
        }
    }
    return false;
}

} // namespace

Result<JsonValue> parseJson(std::string_view text, JsonDialect dialect)
{
    return Parser(text, dialect).parseDocument();
}

} // namespace waste
