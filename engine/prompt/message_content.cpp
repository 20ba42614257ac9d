#include "prompt/message_content.h"

#include "prompt/prompt_error.h"

namespace waste {

namespace {

using Kind = JsonValue::Kind;

bool isImage(const JsonValue& part)
{
    const JsonValue* type = part.find("type");
    return type != nullptr && type->is(Kind::String) && (type->text == "image" || type->text == "image_url");
}

// {"type": "image_url", "image_url": "…" or {"url": "…"}} or {"type": "image", "image": "…" or an object
// with url, path or data}.
Result<ImageReference> referenceOf(const JsonValue& part, const std::string& place)
{
    const JsonValue* image = part.find(part.find("type")->text);
    if (image != nullptr && image->is(Kind::String) && !image->text.empty())
        return ImageReference{ImageReference::Kind::Url, image->text, place};
    if (image != nullptr && image->is(Kind::Object)) {
        struct Form {
            std::string_view key;
            ImageReference::Kind kind;
        };
        for (const Form& form : {Form{"url", ImageReference::Kind::Url}, Form{"path", ImageReference::Kind::Path},
                 Form{"data", ImageReference::Kind::Data}}) {
            const JsonValue* value = image->find(form.key);
            if (value != nullptr && value->is(Kind::String) && !value->text.empty())
                return ImageReference{form.kind, value->text, place};
        }
    }
    return requestError(place, "names no picture");
}

Segment blockFor(const ImageSize& size)
{
    const std::string pixels = std::to_string(size.width) + 'x' + std::to_string(size.height);
    return {Segment::Kind::Image, "<|media_begin|>image " + pixels + "<|media_content|><|media_pad|><|media_end|>",
        size.width, size.height};
}

Status appendPart(SegmentList& segments, const JsonValue& part, const std::string& place, const MediaSource& media)
{
    if (isImage(part)) {
        WASTE_TRY(auto block, media.ofPart(part, place));
        segments.segment(std::move(block));
        return {};
    }
    const JsonValue* text = part.find("text");
    if (text == nullptr || !text->is(Kind::String))
        return requestError(place + ".text", "must be a string");
    return appendText(segments, text->text, media);
}

} // namespace

MediaSource resolvedMedia(ImageResolver resolver)
{
    MediaSource media;
    media.ofPart = [resolver = std::move(resolver)](
                       const JsonValue& part, const std::string& place) -> Result<Segment> {
        WASTE_TRY(const ImageReference reference, referenceOf(part, place));
        if (!resolver)
            return Error{ErrorCode::Unsupported, "vision_disabled", place + ": pictures cannot be used here"};
        WASTE_TRY(const ImageSize size, resolver(reference));
        return blockFor(size);
    };
    return media;
}

Status appendContent(SegmentList& segments, const JsonValue* content, const std::string& place,
    const MediaSource& media, ContentOrder order)
{
    if (content == nullptr || content->is(Kind::Null))
        return {};
    if (content->is(Kind::String))
        return appendText(segments, content->text, media);
    if (!content->is(Kind::Array))
        return requestError(place, "must be a string, an array or null");

    const auto appendWhere = [&](auto&& wanted) -> Status {
        for (std::size_t i = 0; i < content->items.size(); ++i) {
            if (wanted(content->items[i]))
                WASTE_TRY_STATUS(appendPart(segments, content->items[i], placeOf(place, i), media));
        }
        return {};
    };
    if (order == ContentOrder::AsWritten)
        return appendWhere([](const JsonValue&) { return true; });
    WASTE_TRY_STATUS(appendWhere(isImage));
    return appendWhere([](const JsonValue& part) { return !isImage(part); });
}

Status appendText(SegmentList& segments, std::string_view text, const MediaSource& media)
{
    while (media.ofPlaceholder) {
        const std::size_t place = text.find(kImagePlaceholder);
        if (place == std::string_view::npos)
            break;
        segments.plain(text.substr(0, place));
        WASTE_TRY(auto block, media.ofPlaceholder());
        segments.segment(std::move(block));
        text.remove_prefix(place + kImagePlaceholder.size());
    }
    segments.plain(text);
    return {};
}

} // namespace waste
