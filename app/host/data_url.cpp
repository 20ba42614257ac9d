#include "host/data_url.h"

#include <cstdint>

namespace waste::host {

namespace {

Error invalid(const char* message)
{
    return {ErrorCode::InvalidArgument, "invalid_image", message};
}

int valueOf(char digit)
{
    if (digit >= 'A' && digit <= 'Z')
        return digit - 'A';
    if (digit >= 'a' && digit <= 'z')
        return digit - 'a' + 26;
    if (digit >= '0' && digit <= '9')
        return digit - '0' + 52;
    if (digit == '+')
        return 62;
    return digit == '/' ? 63 : -1;
}

} // namespace

Result<std::string> decodeDataUrl(std::string_view url)
{
    static constexpr std::string_view kEncoding = ";base64";
    const std::size_t comma = url.find(',');
    if (!url.starts_with("data:") || comma == std::string_view::npos || !url.substr(0, comma).ends_with(kEncoding))
        return invalid("a picture has to be a data: URL in base64");
    return decodeBase64(url.substr(comma + 1));
}

Result<std::string> decodeBase64(std::string_view text)
{
    std::string bytes;
    std::uint32_t group = 0; // the digits since the last whole byte
    int bits = 0;
    std::size_t digits = 0;
    std::size_t padding = 0;
    for (const char c : text) {
        if (c == '\r' || c == '\n')
            continue;
        if (c == '=') {
            ++padding;
            continue;
        }
        const int value = valueOf(c);
        if (value < 0 || padding > 0)
            return invalid("the picture's data are not base64");
        group = (group << 6) | static_cast<std::uint32_t>(value);
        bits += 6;
        ++digits;
        if (bits >= 8) {
            bits -= 8;
            bytes += static_cast<char>((group >> bits) & 0xFFU);
        }
        if (bytes.size() > kPictureBytesMax)
            return invalid("the picture has more than 20 MiB");
    }
    // One digit alone is no byte, and "=" may only fill up the last group of four.
    const bool isWhole = digits % 4 != 1 && (padding == 0 || (padding <= 2 && (digits + padding) % 4 == 0));
    if (!isWhole || digits == 0)
        return invalid("the picture's data are not base64");
    return bytes;
}

} // namespace waste::host
