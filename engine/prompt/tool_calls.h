#pragma once

#include "prompt/json_text.h"
#include "prompt/message_content.h"
#include "prompt/segment_list.h"
#include "waste/result.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace waste {

// The name of a tool call, which stands in its `function` or in the call itself. Empty: it has none.
std::string_view toolCallName(const JsonValue& call);

// The tools element of an assistant message (spec: chat 3.4). An empty list makes no element.
Status appendToolCalls(
    SegmentList& segments, const JsonValue& calls, const std::string& place, const MediaSource& media);

// A message in the order of rendering.
struct OrderedMessage {
    const JsonValue* message = nullptr;
    std::size_t index = 0; // in the request
    std::optional<std::string_view> tool; // a tool result that was matched with its call: the call's name
};

// Brings runs of tool results into the order of the calls they answer, because XTML binds a result to its
// call by position and clients bind it by id (spec: chat 3.6). The views are into `messages`.
std::vector<OrderedMessage> orderMessages(const std::vector<JsonValue>& messages);

} // namespace waste
