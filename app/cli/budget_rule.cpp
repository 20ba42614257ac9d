#include "cli/budget_rule.h"

#include <cassert>

namespace waste::cli {

std::string_view nameOf(MemoryPlan::Rule rule)
{
    using Rule = MemoryPlan::Rule;
    switch (rule) {
    case Rule::Explicit:
        return "explicit";
    case Rule::Everything:
        return "everything";
    case Rule::WorkingSets:
        return "working_sets";
    case Rule::SmallModel:
        return "small_model";
    case Rule::Slice:
        return "slice";
    case Rule::Floor:
        return "floor";
    }
    assert(false);
    return {};
}

std::string_view reasonForBudget(const MemoryPlan& plan)
{
    using Rule = MemoryPlan::Rule;
    if (plan.loweredForPaging)
        return "half of the usual cache, because this machine pages";
    switch (plan.rule) {
    case Rule::Explicit:
        return "as asked for";
    case Rule::Everything:
        return "all experts fit";
    case Rule::WorkingSets:
        return "as many tokens' experts, three at most, as 3/4 of the RAM hold";
    case Rule::SmallModel:
        return "half of the RAM, for a small model";
    case Rule::Slice:
        return "a part of one token's experts, for want of RAM";
    case Rule::Floor:
        return "the least that it opens with";
    }
    assert(false);
    return {};
}

} // namespace waste::cli
