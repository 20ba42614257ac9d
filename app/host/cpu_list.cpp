#include "host/cpu_list.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

namespace waste::host {

namespace {

std::string_view trim(std::string_view text)
{
    static constexpr std::string_view kBlanks = " \t";
    const auto begin = text.find_first_not_of(kBlanks);
    return begin == std::string_view::npos ? "" : text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::optional<std::uint32_t> parseCpu(std::string_view text)
{
    const std::string_view digits = trim(text);
    std::uint32_t cpu = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), cpu);
    if (error != std::errc{} || end != digits.data() + digits.size() || cpu >= kCpuNumbersMax)
        return std::nullopt;
    return cpu;
}

} // namespace

Result<std::vector<std::uint32_t>> parseCpuList(std::string_view text)
{
    std::vector<std::uint32_t> cpus;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        const std::string_view item = text.substr(begin, end - begin);
        const std::size_t dash = std::min(item.find('-'), item.size());
        const auto first = parseCpu(item.substr(0, dash));
        const auto last = dash < item.size() ? parseCpu(item.substr(dash + 1)) : first;
        if (!first || !last || *last < *first) {
            return Error{ErrorCode::InvalidArgument, "",
                "'" + std::string(text) + "' is not a list of CPUs; write numbers below 1024 and ranges, for example "
                    + "0-5 or 0-2,6-8"};
        }
        for (std::uint32_t cpu = *first; cpu <= *last; ++cpu)
            cpus.push_back(cpu);
        begin = end + 1;
    }
    std::sort(cpus.begin(), cpus.end());
    cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
    return cpus;
}

} // namespace waste::host
