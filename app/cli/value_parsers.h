#pragma once

#include "waste/result.h"
#include "waste/types.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace waste::cli {

// Takes the text of one value, stores what it means, or says what is wrong with it (InvalidArgument).
using ValueParser = std::function<Status(std::string_view)>;

// Each of these makes the parser for one target, which must outlive it.

ValueParser into(std::string& target);
ValueParser into(std::optional<std::string>& target);
ValueParser into(std::filesystem::path& target); // UTF-8; an empty path is refused
ValueParser into(std::vector<std::string>& target); // for repeatable options: appends
ValueParser into(std::vector<std::filesystem::path>& target); // the same

ValueParser wholeNumberInto(std::uint32_t& target, std::uint32_t min, std::uint32_t max);
ValueParser wholeNumberInto(std::optional<std::uint32_t>& target, std::uint32_t min, std::uint32_t max);
ValueParser wholeNumberInto(std::optional<std::uint64_t>& target);

struct NumberRange {
    double min = 0;
    double max = std::numeric_limits<double>::max();
    bool minExcluded = false;
};
ValueParser numberInto(std::optional<double>& target, NumberRange range);

ValueParser sizeInto(std::uint64_t& target); // host/size_text
ValueParser cpuListInto(std::vector<std::uint32_t>& target); // host/cpu_list

template<typename T>
struct NamedValue {
    std::string_view name;
    T value;
};
// One of a few words; the message of a wrong one lists them.
template<typename Target, typename T>
ValueParser choiceInto(Target& target, std::vector<NamedValue<T>> choices)
{
    return [&target, choices = std::move(choices)](std::string_view text) -> Status {
        std::string names;
        for (const NamedValue<T>& choice : choices) {
            if (choice.name == text) {
                target = choice.value;
                return {};
            }
            names += (names.empty() ? "" : ", ") + std::string(choice.name);
        }
        return Error{ErrorCode::InvalidArgument, "", "'" + std::string(text) + "' is none of " + names};
    };
}

} // namespace waste::cli
