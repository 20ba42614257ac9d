#pragma once

#include "prompt/json_text.h"
#include "prompt/segment_list.h"
#include "waste/chat_format.h"
#include "waste/result.h"

#include <functional>
#include <string>
#include <string_view>

namespace waste {

inline constexpr std::string_view kImagePlaceholder = "<|kimi_image_placeholder|>";

// Where the pictures of a prompt come from. Asked in the order in which they enter the prompt.
struct MediaSource {
    // The block for an image part of a message.
    std::function<Result<Segment>(const JsonValue& part, const std::string& place)> ofPart;
    // The block for a placeholder inside a text. Empty: the placeholder is ordinary text, as it must be
    // wherever people write; otherwise who quotes it steals a picture.
    std::function<Result<Segment>()> ofPlaceholder;
};

// Pictures whose sizes `resolver` tells; without one an image part is an error.
MediaSource resolvedMedia(ImageResolver resolver);

enum class ContentOrder : std::uint8_t { AsWritten, ImagesFirst };

// A message's content: a string, null (a null pointer too) or an array of parts (spec: chat 3.1).
Status appendContent(SegmentList& segments, const JsonValue* content, const std::string& place,
    const MediaSource& media, ContentOrder order = ContentOrder::AsWritten);

// Text that somebody wrote.
Status appendText(SegmentList& segments, std::string_view text, const MediaSource& media);

} // namespace waste
