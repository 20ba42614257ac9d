#include "cli/nearest_name.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace waste::cli {

namespace {

// Insertions, deletions, replacements and swaps of neighbours that lead from a to b.
std::size_t editDistance(std::string_view a, std::string_view b)
{
    std::vector<std::size_t> beforeLast(b.size() + 1);
    std::vector<std::size_t> last(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j)
        row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        beforeLast.swap(last);
        last.swap(row);
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], beforeLast[j - 2] + 1);
        }
    }
    return row[b.size()];
}

} // namespace

std::string nearestName(std::string_view name, std::span<const std::string> candidates)
{
    std::string nearest;
    std::size_t nearestDistance = std::max<std::size_t>(1, name.size() / 3) + 1;
    for (const std::string& candidate : candidates) {
        // A cut-off name is as good a hint as a mistyped one.
        const bool begins = name.size() >= 3 && candidate.starts_with(name);
        const std::size_t distance = begins ? 1 : editDistance(name, candidate);
        if (distance < nearestDistance) {
            nearestDistance = distance;
            nearest = candidate;
        }
    }
    return nearest;
}

std::string suggestion(std::string_view name, std::span<const std::string> candidates)
{
    const std::string nearest = nearestName(name, candidates);
    return nearest.empty() ? "" : "; did you mean " + nearest + "?";
}

} // namespace waste::cli
