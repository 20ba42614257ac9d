#include "waste/chat_format.h"

#include <algorithm>

namespace waste {

namespace {

constexpr std::string_view kMediaPad = "<|media_pad|>";

Status encodeImage(
    const Tokenizer& tokenizer, const Segment& segment, std::uint32_t tokenCount, std::vector<TokenId>& ids)
{
    const auto pad = tokenizer.special(kMediaPad);
    std::vector<TokenId> block;
    WASTE_TRY_STATUS(tokenizer.encodeMarkup(segment.text, block));
    const auto place = pad ? std::ranges::find(block, *pad) : block.end();
    if (place == block.end())
        return Error{ErrorCode::InvalidArgument, "vision_disabled", "this model has no token for a picture"};
    ids.insert(ids.end(), block.begin(), place);
    ids.insert(ids.end(), tokenCount, *pad);
    ids.insert(ids.end(), place + 1, block.end());
    return {};
}

} // namespace

Result<std::vector<TokenId>> encodeSegments(
    const Tokenizer& tokenizer, std::span<const Segment> segments, std::span<const std::uint32_t> imageTokenCounts)
{
    const auto isImage = [](const Segment& segment) { return segment.kind == Segment::Kind::Image; };
    const auto imageCount = static_cast<std::size_t>(std::ranges::count_if(segments, isImage));
    if (!imageTokenCounts.empty() && imageTokenCounts.size() != imageCount)
        return Error{ErrorCode::InvalidArgument, "",
            "the prompt has " + std::to_string(imageCount) + " pictures, but the sizes of "
                + std::to_string(imageTokenCounts.size()) + " were given"};
    std::vector<TokenId> ids;
    std::size_t image = 0;
    for (const Segment& segment : segments) {
        switch (segment.kind) {
        case Segment::Kind::Plain:
            WASTE_TRY_STATUS(tokenizer.encodePlain(segment.text, ids));
            break;
        case Segment::Kind::Markup:
            WASTE_TRY_STATUS(tokenizer.encodeMarkup(segment.text, ids));
            break;
        case Segment::Kind::Image:
            WASTE_TRY_STATUS(
                encodeImage(tokenizer, segment, imageTokenCounts.empty() ? 1 : imageTokenCounts[image], ids));
            ++image;
            break;
        }
    }
    return ids;
}

} // namespace waste
