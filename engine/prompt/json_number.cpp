#include "prompt/json_number.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

namespace waste {

namespace {

bool isDigit(char c)
{
    return c >= '0' && c <= '9';
}

std::size_t digitCount(std::string_view text)
{
    std::size_t count = 0;
    while (count < text.size() && isDigit(text[count]))
        ++count;
    return count;
}

// The decimal exponent of the first digit that is not 0, saturated; tells overflow from underflow.
std::int64_t magnitude(std::string_view number)
{
    constexpr std::int64_t kSaturated = std::int64_t{1} << 40;
    if (number.front() == '-')
        number.remove_prefix(1);
    const std::size_t exponentAt = std::min(number.find_first_of("eE"), number.size());
    const std::string_view mantissa = number.substr(0, exponentAt);
    std::int64_t exponent = 0;
    if (exponentAt < number.size()) {
        std::string_view digits = number.substr(exponentAt + 1);
        const bool negative = digits.front() == '-';
        if (digits.front() == '-' || digits.front() == '+')
            digits.remove_prefix(1);
        for (const char digit : digits)
            exponent = std::min(exponent * 10 + (digit - '0'), kSaturated);
        exponent = negative ? -exponent : exponent;
    }
    const auto point = static_cast<std::int64_t>(std::min(mantissa.find('.'), mantissa.size()));
    const std::size_t first = mantissa.find_first_of("123456789");
    if (first == std::string_view::npos)
        return -kSaturated;
    const auto place = static_cast<std::int64_t>(first);
    return exponent + (place < point ? point - place - 1 : point - place);
}

double toDouble(std::string_view number)
{
    double value = 0;
    const auto result = std::from_chars(number.data(), number.data() + number.size(), value);
    if (result.ec != std::errc::result_out_of_range)
        return value;
    value = magnitude(number) > 0 ? std::numeric_limits<double>::infinity() : 0.0;
    return number.front() == '-' ? -value : value;
}

} // namespace

std::string jsonNumber(double value)
{
    if (std::isnan(value))
        return "NaN";
    if (std::isinf(value))
        return value > 0 ? "Infinity" : "-Infinity";
    std::array<char, 40> buffer{};
    char* const begin = buffer.data();
    char* const end = begin + buffer.size();
    const double size = std::abs(value);
    if (value == 0 || (size >= 1e-4 && size < 1e16)) {
        std::string text(begin, std::to_chars(begin, end, value, std::chars_format::fixed).ptr);
        if (text.find('.') == std::string::npos)
            text += ".0";
        return text;
    }
    return {begin, std::to_chars(begin, end, value, std::chars_format::scientific).ptr};
}

std::size_t jsonNumberLength(std::string_view text)
{
    std::size_t length = text.starts_with('-') ? 1 : 0;
    const std::size_t whole = digitCount(text.substr(length));
    if (whole == 0 || (whole > 1 && text[length] == '0'))
        return 0;
    length += whole;
    if (length < text.size() && text[length] == '.') {
        const std::size_t fraction = digitCount(text.substr(length + 1));
        if (fraction == 0)
            return 0;
        length += 1 + fraction;
    }
    if (length < text.size() && (text[length] == 'e' || text[length] == 'E')) {
        std::size_t digitsAt = length + 1;
        if (digitsAt < text.size() && (text[digitsAt] == '+' || text[digitsAt] == '-'))
            ++digitsAt;
        const std::size_t digits = digitCount(text.substr(digitsAt));
        if (digits == 0)
            return 0;
        length = digitsAt + digits;
    }
    return length;
}

std::optional<std::string> canonicalJsonNumber(std::string_view number, bool infinityAllowed)
{
    const double value = toDouble(number);
    if (std::isinf(value) && !infinityAllowed)
        return std::nullopt;
    const bool isInteger = number.find_first_of(".eE") == std::string_view::npos;
    if (isInteger)
        return std::string(number == "-0" ? "0" : number);
    return jsonNumber(value);
}

} // namespace waste
