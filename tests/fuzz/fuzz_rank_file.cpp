// A rank file is refused or gives a vocabulary in which every token is found under its id.

#include "tokens/rank_file.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace {

// The 256 bytes, so that a short input is enough to get past the last check.
std::string byteLines()
{
    constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string lines;
    for (unsigned byte = 0; byte < 256; ++byte) {
        lines += kAlphabet[byte >> 2];
        lines += kAlphabet[(byte & 3) << 4];
        lines += "== " + std::to_string(byte) + '\n';
    }
    return lines;
}

void check(std::string_view content)
{
    const auto vocabulary = waste::parseRankFile(content, "fuzz");
    for (std::size_t id = 0; vocabulary && id < vocabulary->count(); ++id) {
        const auto token = static_cast<waste::TokenId>(id);
        if (vocabulary->find(vocabulary->bytes(token)) != token)
            std::abort();
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const std::string bytes = byteLines();
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    check(input);
    check(bytes + std::string(input));
    return 0;
}
