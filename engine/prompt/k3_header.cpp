#include "prompt/k3_header.h"

#include "prompt/blanks.h"

#include <algorithm>

namespace waste {

namespace {

void replaceAll(std::string& text, std::string_view from, std::string_view to)
{
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
}

std::string unescaped(std::string_view value)
{
    std::string text(value);
    replaceAll(text, "&quot;", "\"");
    replaceAll(text, "&amp;", "&");
    return text;
}

// Cuts off and returns what stands before the first `end`, which goes too; all of it without one.
std::string_view takeUntil(std::string_view& text, char end)
{
    const std::size_t place = std::min(text.find(end), text.size());
    const std::string_view taken = text.substr(0, place);
    text.remove_prefix(std::min(place + 1, text.size()));
    return taken;
}

} // namespace

K3Header K3Header::parse(std::string_view text)
{
    K3Header header;
    text = trimBlanks(text);
    header.name = takeUntil(text, ' ');
    while (text.find('=') != std::string_view::npos) {
        const std::string_view key = trimBlanks(takeUntil(text, '='));
        const bool quoted = text.starts_with('"');
        if (quoted)
            text.remove_prefix(1);
        const std::string_view value = takeUntil(text, quoted ? '"' : ' ');
        if (!key.empty())
            header.attributes.emplace_back(key, unescaped(value));
    }
    return header;
}

const std::string* K3Header::find(std::string_view key) const
{
    const auto found = std::find_if(
        attributes.rbegin(), attributes.rend(), [&](const auto& attribute) { return attribute.first == key; });
    return found != attributes.rend() ? &found->second : nullptr;
}

} // namespace waste
