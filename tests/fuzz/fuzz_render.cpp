// A request is refused or rendered, and control tokens in the ids come from markup alone: the texts of a
// request cannot make one.

#include "text_model.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

using namespace waste;

namespace {

void check(const Result<Prompt>& prompt, const Tokenizer& tokenizer)
{
    if (!prompt)
        return;
    for (const Segment& segment : prompt->segments) {
        std::vector<TokenId> ids;
        if (segment.text.empty() || !tokenizer.encodePlain(segment.text, ids))
            std::abort();
        for (const TokenId id : ids) {
            if (segment.kind == Segment::Kind::Plain && tokenizer.isSpecial(id))
                std::abort();
        }
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const std::string_view request(reinterpret_cast<const char*>(data), size);
    const ChatFormat& format = fuzz::builtInFormat();
    const RenderOptions options{.image = [](const ImageReference&) -> Result<ImageSize> { return ImageSize{4, 2}; }};
    check(format.render(request, options), format.tokenizer());
    check(format.renderInput(request), format.tokenizer());
    (void)format.closeReply({}, request, true);
    return 0;
}
