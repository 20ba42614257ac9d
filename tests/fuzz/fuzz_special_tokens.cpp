// A file of special tokens is refused, or every token in it is found by its text and in a text.

#include "tokens/special_tokens.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

void check(const waste::Result<waste::SpecialTokens>& specials, std::string_view text)
{
    if (!specials)
        return;
    for (waste::TokenId id = 256; id < 512; ++id) {
        const auto name = specials->text(id);
        if (!name || specials->find(*name) != id)
            std::abort();
    }
    std::size_t offset = 0;
    while (const auto found = specials->findIn(text, offset)) {
        if (found->offset < offset || specials->find(text.substr(found->offset, found->length)) != found->id)
            std::abort();
        offset = found->offset + found->length;
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    check(waste::SpecialTokens::fromSpecialsFile(text, "fuzz", 256), text);
    check(waste::SpecialTokens::fromTokenizerConfig(text, "fuzz", 256), text);
    return 0;
}
