#include "prompt/json_text.h"

#include <algorithm>

namespace waste {

namespace {

using Kind = JsonValue::Kind;

class Writer {
public:
    explicit Writer(JsonStyle style)
        : m_comma(style == JsonStyle::Compact ? "," : ", ")
        , m_colon(style == JsonStyle::Compact ? ":" : ": ")
    {
    }

    void append(std::string& target, const JsonValue& value) const
    {
        switch (value.kind) {
        case Kind::Null:
            target += "null";
            return;
        case Kind::Boolean:
            target += value.boolean ? "true" : "false";
            return;
        case Kind::Number:
            target += value.text;
            return;
        case Kind::String:
            appendJsonString(target, value.text);
            return;
        case Kind::Array:
            appendList(target, '[', value.items, ']', [&](const JsonValue& item) { append(target, item); });
            return;
        case Kind::Object:
            appendList(target, '{', value.members, '}', [&](const JsonMember& member) {
                appendJsonString(target, member.key);
                target += m_colon;
                append(target, member.value);
            });
            return;
        }
    }

private:
    template<typename List, typename Append>
    void appendList(std::string& target, char open, const List& list, char close, const Append& appendOne) const
    {
        target += open;
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (i > 0)
                target += m_comma;
            appendOne(list[i]);
        }
        target += close;
    }

    const std::string_view m_comma;
    const std::string_view m_colon;
};

} // namespace

const JsonValue* JsonValue::find(std::string_view key) const
{
    for (const JsonMember& member : members) {
        if (member.key == key)
            return member.value.is(Kind::Null) ? nullptr : &member.value;
    }
    return nullptr;
}

JsonValue JsonValue::string(std::string text)
{
    JsonValue value;
    value.kind = Kind::String;
    value.text = std::move(text);
    return value;
}

JsonValue JsonValue::object(std::vector<JsonMember> members)
{
    JsonValue value;
    value.kind = Kind::Object;
    value.members = std::move(members);
    return value;
}

std::string writeJson(const JsonValue& value, JsonStyle style)
{
    std::string text;
    Writer(style).append(text, value);
    return text;
}

void appendJsonString(std::string& target, std::string_view text)
{
    target += '"';
    for (const char c : text) {
        constexpr std::string_view kEscaped = "\"\\\b\t\n\f\r";
        constexpr std::string_view kLetters = "\"\\btnfr";
        if (const std::size_t place = kEscaped.find(c); place != std::string_view::npos) {
            target += '\\';
            target += kLetters[place];
        } else if (static_cast<unsigned char>(c) < 0x20) {
            constexpr std::string_view kDigits = "0123456789abcdef";
            target += "\\u00";
            target += kDigits[static_cast<unsigned char>(c) >> 4];
            target += kDigits[static_cast<unsigned char>(c) & 15];
        } else {
            target += c;
        }
    }
    target += '"';
}

JsonValue sortedByKey(JsonValue value)
{
    for (JsonValue& item : value.items)
        item = sortedByKey(std::move(item));
    for (JsonMember& member : value.members)
        member.value = sortedByKey(std::move(member.value));
    std::sort(value.members.begin(), value.members.end(),
        [](const JsonMember& a, const JsonMember& b) { return a.key < b.key; });
    return value;
}

} // namespace waste
