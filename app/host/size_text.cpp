#include "host/size_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <string>

namespace waste::host {

namespace {

constexpr double kTwoTo64 = 18446744073709551616.0;

// The power of two behind a suffix: "" and "B" are 0, "k", "KB" and "KiB" are 10; −1 for anything else.
int suffixShift(std::string_view suffix)
{
    std::string upper;
    for (const char letter : suffix)
        upper += letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
    if (upper.empty() || upper == "B")
        return 0;
    static constexpr std::string_view kUnits = "KMGT";
    const auto unit = kUnits.find(upper.front());
    const std::string_view rest = std::string_view(upper).substr(1);
    if (unit == std::string_view::npos || !(rest.empty() || rest == "B" || rest == "IB"))
        return -1;
    return 10 * (static_cast<int>(unit) + 1);
}

std::string print(const char* format, double value)
{
    std::array<char, 64> buffer{};
    std::snprintf(buffer.data(), buffer.size(), format, value);
    return buffer.data();
}

} // namespace

Result<std::uint64_t> parseSize(std::string_view text)
{
    const Error notASize{ErrorCode::InvalidArgument, "",
        "'" + std::string(text) + "' is not a size; write a number with K, M, G or T behind it, for example 46G"};
    const char* const end = text.data() + text.size();

    // Whole numbers exactly, everything else as a double: 53 bits of a fraction are enough.
    std::uint64_t whole = 0;
    if (const auto read = std::from_chars(text.data(), end, whole); read.ec == std::errc{}) {
        const int shift = suffixShift({read.ptr, end});
        if (shift >= 0) {
            if (whole > (~std::uint64_t{0} >> shift))
                return notASize;
            return whole << shift;
        }
    }
    double number = 0;
    const auto read = std::from_chars(text.data(), end, number);
    const int shift = suffixShift({read.ptr, end});
    if (read.ec != std::errc{} || shift < 0 || !std::isfinite(number) || std::signbit(number))
        return notASize;
    const double bytes = std::ldexp(number, shift);
    if (bytes >= kTwoTo64)
        return notASize;
    return static_cast<std::uint64_t>(bytes);
}

std::string formatSize(std::uint64_t bytes)
{
    const auto value = static_cast<double>(bytes);
    return bytes >= (std::uint64_t{1} << 30) ? print("%.2f GiB", value / 0x1p30) : print("%.0f MiB", value / 0x1p20);
}

std::string formatAmount(double bytes)
{
    if (bytes >= 0x1p30)
        return print("%.1f GiB", bytes / 0x1p30);
    if (bytes >= 0x1p20)
        return print("%.1f MiB", bytes / 0x1p20);
    return bytes >= 0x1p10 ? print("%.1f KiB", bytes / 0x1p10) : print("%.0f B", bytes);
}

} // namespace waste::host
