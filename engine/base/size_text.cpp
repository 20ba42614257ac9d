#include "base/size_text.h"

#include <cmath>
#include <cstdio>

namespace waste {

std::string sizeText(std::uint64_t bytes)
{
    constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
    constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30;
    if (bytes < kMebibyte)
        return std::to_string(bytes) + " bytes";
    const bool large = bytes >= kGibibyte;
    const double unit = static_cast<double>(large ? kGibibyte : kMebibyte);
    const double digits = large ? 100 : 1;
    char text[32];
    std::snprintf(text, sizeof(text), large ? "%.2f GiB" : "%.0f MiB",
        std::ceil(static_cast<double>(bytes) / unit * digits) / digits);
    return text;
}

} // namespace waste
