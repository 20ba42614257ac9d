// Pieces are never empty and give the text back, whatever bytes it is made of.

#include "tokens/outer_cuts.h"
#include "tokens/pre_tokenizer.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    std::string joined;
    waste::OuterCuts parts(text);
    while (const auto part = parts.next()) {
        waste::PreTokenizer pieces(*part);
        while (const auto piece = pieces.next()) {
            if (piece->empty())
                std::abort();
            joined += *piece;
        }
    }
    if (joined != text)
        std::abort();
    return 0;
}
