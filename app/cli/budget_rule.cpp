#include "cli/budget_rule.h"

namespace waste::cli {

std::string_view nameOf(MemoryPlan::Rule rule)
{
    static constexpr std::string_view kNames[] = {
        "explicit", "everything", "working_sets", "small_model", "slice", "floor"};
    return kNames[static_cast<std::size_t>(rule)];
}

std::string_view reasonForBudget(const MemoryPlan& plan)
{
    if (plan.loweredForPaging)
        return "half of the usual cache, because this machine pages";
    static constexpr std::string_view kTexts[] = {"as asked for", "all experts fit",
        "as many tokens' experts, three at most, as 3/4 of the RAM hold", "half of the RAM, for a small model",
        "a part of one token's experts, for want of RAM", "the least that it opens with"};
    return kTexts[static_cast<std::size_t>(plan.rule)];
}

} // namespace waste::cli
