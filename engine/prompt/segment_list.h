#pragma once

#include "waste/chat_format.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace waste {

// The elements that K3 prompts are made of, as segments (spec: chat 1). Nothing stands between them, and an
// empty text makes no segment.
class SegmentList {
public:
    struct Attribute {
        std::string_view key;
        std::string_view value; // escaped here
    };

    void plain(std::string_view text) { add(Segment::Kind::Plain, text); }
    void markup(std::string_view text) { add(Segment::Kind::Markup, text); }
    void segment(Segment segment) { m_segments.push_back(std::move(segment)); }
    void open(std::string_view tag, const std::vector<Attribute>& attributes = {});
    void close(std::string_view tag);
    void endOfMessage();

    [[nodiscard]] std::size_t size() const { return m_segments.size(); }
    std::vector<Segment> take() { return std::move(m_segments); }

private:
    void add(Segment::Kind kind, std::string_view text);

    std::vector<Segment> m_segments;
};

// The control tokens of the native K3 format.
namespace k3 {
inline constexpr std::string_view kOpen = "<|open|>";
inline constexpr std::string_view kClose = "<|close|>";
inline constexpr std::string_view kSeparator = "<|sep|>";
inline constexpr std::string_view kEnd = "<|end_of_msg|>";
} // namespace k3

} // namespace waste
