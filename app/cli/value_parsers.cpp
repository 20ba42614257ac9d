#include "cli/value_parsers.h"

#include "host/cpu_list.h"
#include "host/size_text.h"

#include "waste/files.h"

#include <charconv>
#include <cmath>

namespace waste::cli {

namespace {

Error wrong(std::string_view text, const std::string& expected)
{
    return {ErrorCode::InvalidArgument, "", "'" + std::string(text) + "' is not " + expected};
}

Result<std::uint64_t> wholeNumber(std::string_view text, std::uint64_t min, std::uint64_t max)
{
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc{} && end == text.data() + text.size() && number >= min && number <= max)
        return number;
    return wrong(text, "a whole number from " + std::to_string(min) + " to " + std::to_string(max));
}

std::string rangeText(const NumberRange& range)
{
    const auto print = [](double value) {
        std::string text(32, '\0');
        const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
        text.resize(error == std::errc{} ? static_cast<std::size_t>(end - text.data()) : 0);
        return text;
    };
    const std::string text = (range.minExcluded ? "a number above " : "a number from ") + print(range.min);
    if (range.max < std::numeric_limits<double>::max())
        return text + (range.minExcluded ? " and up to " : " to ") + print(range.max);
    return text + (range.minExcluded ? "" : " on");
}

} // namespace

ValueParser into(std::string& target)
{
    return [&target](std::string_view text) -> Status {
        target = text;
        return {};
    };
}

ValueParser into(std::optional<std::string>& target)
{
    return [&target](std::string_view text) -> Status {
        target = std::string(text);
        return {};
    };
}

ValueParser into(std::filesystem::path& target)
{
    return [&target](std::string_view text) -> Status {
        if (text.empty())
            return wrong(text, "the name of a file");
        target = pathOfText(text);
        return {};
    };
}

ValueParser into(std::vector<std::string>& target)
{
    return [&target](std::string_view text) -> Status {
        target.emplace_back(text);
        return {};
    };
}

ValueParser into(std::vector<std::filesystem::path>& target)
{
    return [&target](std::string_view text) -> Status {
        if (text.empty())
            return wrong(text, "the name of a file");
        target.push_back(pathOfText(text));
        return {};
    };
}

ValueParser wholeNumberInto(std::uint32_t& target, std::uint32_t min, std::uint32_t max)
{
    return [&target, min, max](std::string_view text) -> Status {
        WASTE_TRY(const std::uint64_t number, wholeNumber(text, min, max));
        target = static_cast<std::uint32_t>(number);
        return {};
    };
}

ValueParser wholeNumberInto(std::optional<std::uint32_t>& target, std::uint32_t min, std::uint32_t max)
{
    return [&target, min, max](std::string_view text) -> Status {
        WASTE_TRY(const std::uint64_t number, wholeNumber(text, min, max));
        target = static_cast<std::uint32_t>(number);
        return {};
    };
}

ValueParser wholeNumberInto(std::optional<std::uint64_t>& target)
{
    return [&target](std::string_view text) -> Status {
        WASTE_TRY(target, wholeNumber(text, 0, std::numeric_limits<std::uint64_t>::max()));
        return {};
    };
}

ValueParser numberInto(std::optional<double>& target, NumberRange range)
{
    return [&target, range](std::string_view text) -> Status {
        double number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        const bool complete = error == std::errc{} && end == text.data() + text.size();
        if (!complete || !std::isfinite(number) || number < range.min || number > range.max
            || (range.minExcluded && number == range.min))
            return wrong(text, rangeText(range));
        target = number;
        return {};
    };
}

ValueParser sizeInto(std::uint64_t& target)
{
    return [&target](std::string_view text) -> Status {
        WASTE_TRY(target, host::parseSize(text));
        return {};
    };
}

ValueParser cpuListInto(std::vector<std::uint32_t>& target)
{
    return [&target](std::string_view text) -> Status {
        WASTE_TRY(target, host::parseCpuList(text));
        return {};
    };
}

} // namespace waste::cli
