// Any sequence of tokens is read; the deltas add up to the totals, and the message is valid JSON. Each byte
// is one token: markers for 0 to 3, for 4 to 15 texts that name elements, else itself.

#include "prompt/json_text.h"
#include "text_model.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

using namespace waste;

namespace {

constexpr std::array<std::string_view, 16> kTexts{"<|open|>", "<|close|>", "<|sep|>", "<|end_of_msg|>", "think",
    "response", "tools", "call tool=\"f\"", "call tool=\"\"", "argument key=\"a\"",
    "argument key=\"b\" type=\"number\"", "json", "message", "argument", "call", "[EOS]"};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const ChatFormat& format = fuzz::builtInFormat();
    for (const auto start : {ReplyChannel::Think, ReplyChannel::Response}) {
        ReplyReader reader = format.readReply({.start = start, .stopStrings = {"stop", "op"}});
        std::string reasoning;
        std::string content;
        const auto take = [&](const ReplyDelta& delta) {
            reasoning += delta.reasoning;
            content += delta.content;
            for (const std::size_t call : delta.calls) {
                if (call >= reader.callCount())
                    std::abort();
            }
        };
        for (std::size_t i = 0; i < size; ++i) {
            std::vector<TokenId> ids{data[i]};
            if (data[i] < kTexts.size()) {
                ids.clear();
                (void)format.tokenizer().encodeMarkup(kTexts[data[i]], ids);
            }
            for (const TokenId id : ids)
                take(reader.feed(id));
        }
        take(reader.finish());
        const auto message = parseJson(reader.messageJson(), JsonDialect::Strict);
        if (!message || reasoning != reader.reasoning() || content != reader.content())
            std::abort();
    }
    return 0;
}
