#include "prompt/segment_list.h"

namespace waste {

namespace {

std::string escaped(std::string_view value)
{
    std::string text;
    for (const char c : value) {
        if (c == '&')
            text += "&amp;";
        else if (c == '"')
            text += "&quot;";
        else
            text += c;
    }
    return text;
}

} // namespace

void SegmentList::open(std::string_view tag, const std::vector<Attribute>& attributes)
{
    markup(k3::kOpen);
    plain(tag);
    for (const Attribute& attribute : attributes) {
        plain(' ' + std::string(attribute.key));
        plain("=\"");
        plain(escaped(attribute.value));
        plain("\"");
    }
    markup(k3::kSeparator);
}

void SegmentList::close(std::string_view tag)
{
    markup(k3::kClose);
    plain(tag);
    markup(k3::kSeparator);
}

void SegmentList::endOfMessage()
{
    markup(k3::kEnd);
}

void SegmentList::add(Segment::Kind kind, std::string_view text)
{
    if (!text.empty())
        m_segments.push_back({kind, std::string(text)});
}

} // namespace waste
