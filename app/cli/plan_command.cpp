#include "cli/budget_rule.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/expected_hits.h"
#include "cli/printf_text.h"
#include "host/size_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace waste::cli {

namespace {

using nlohmann::ordered_json;

constexpr int kBelowFloorExitCode = 1;

std::string row(const std::string& label, const std::string& value)
{
    return printfText("  %-25s%11s", label.c_str(), value.c_str());
}

struct TableRow {
    MemoryPlan plan;
    std::string meaning; // of its budget
};

ordered_json tableRow(const MemoryPlan& plan)
{
    return {{"budget_bytes", plan.budgetBytes}, {"expert_cache_bytes", plan.expertCacheBytes},
        {"expected_hits", expectedHitsText(plan)}, {"above_safe_share", plan.aboveSafeShare}};
}

class PlanCommand final : public Command {
public:
    Arguments declare() override
    {
        Arguments arguments("plan MODEL [OPTIONS]",
            "Shows how a RAM budget would be divided, or which one the model would take without one and why. Loads\n"
            "no weights. Exit code 1 if the budget given is below the floor.");
        declareModel(arguments, m_flags);
        arguments.group("Plan");
        arguments.flag("--table", m_table, "compare budgets");
        declareEngineFlags(arguments, m_flags);
        return arguments;
    }

    Result<int> run(CommandContext& context) override
    {
        WASTE_TRY(const auto container, openContainer(m_flags));
        WASTE_TRY(const MemoryPlan plan, memoryPlan(*container, m_flags));
        std::vector<TableRow> rows;
        if (m_table) {
            WASTE_TRY(rows, tableRows(*container, plan));
        }
        if (context.output.isJson())
            context.output.json(json(plan, rows));
        else
            context.output.text(text(plan, rows));
        return isBelowFloor(plan) ? kBelowFloorExitCode : 0;
    }

private:
    bool hasBudget() const { return m_flags.options.budgetBytes > 0; }
    bool isBelowFloor(const MemoryPlan& plan) const { return hasBudget() && plan.budgetBytes < plan.floorBytes; }

    // The floor, one to three tokens' working sets above it, everything, and what was asked for or chosen.
    Result<std::vector<TableRow>> tableRows(const Container& container, const MemoryPlan& plan) const
    {
        std::map<std::uint64_t, std::string> budgets; // with what each means
        const auto add = [&budgets](std::uint64_t budget, const char* meaning) {
            std::string& text = budgets[budget];
            text += (text.empty() ? "" : ", ") + std::string(meaning);
        };
        add(plan.floorBytes, "the least that it opens with");
        add(plan.floorBytes + plan.workingSetBytes, "the floor and one token's experts");
        add(plan.floorBytes + 2 * plan.workingSetBytes, "the floor and two tokens' experts");
        add(plan.recommendedBytes, "the floor and three tokens' experts: recommended");
        add(plan.everythingBytes, "all experts");
        if (plan.budgetBytes >= plan.floorBytes) // else nothing opens with it
            add(plan.budgetBytes, hasBudget() ? "your --budget" : "what it takes without --budget");

        std::vector<TableRow> rows;
        for (const auto& [budget, meaning] : budgets) {
            WASTE_TRY(const auto planned, planWith(container, budget));
            rows.push_back({planned, meaning});
        }
        return rows;
    }

    Result<MemoryPlan> planWith(const Container& container, std::uint64_t budgetBytes) const
    {
        EngineFlags flags = m_flags;
        flags.options.budgetBytes = budgetBytes;
        return memoryPlan(container, flags);
    }

    ordered_json json(const MemoryPlan& plan, const std::vector<TableRow>& rows) const
    {
        ordered_json object = {{"ctx", plan.contextTokens}, {"trunk_bytes", plan.trunkBytes},
            {"state_bytes", plan.stateBytes}, {"scratch_bytes", plan.scratchBytes},
            {"min_expert_cache", plan.minimumExpertCacheBytes}, {"floor_bytes", plan.floorBytes},
            {"recommended_bytes", plan.recommendedBytes}, {"physical_ram_bytes", plan.machine.physicalBytes},
            {"usable_ram_bytes", plan.machine.usableBytes}, {"kept_state_bytes", plan.keptStateBytes},
            {"program_bytes", plan.programBytes}, {"machine_pages", plan.machine.pages}};
        if (const std::uint64_t vision = std::max(plan.visionBytes, plan.visionExtraBytes); vision > 0)
            object["vision_bytes"] = vision;
        if (hasBudget()) {
            object["budget_bytes"] = plan.budgetBytes;
            object["expert_cache_bytes"] = isBelowFloor(plan) ? ordered_json(-1) : ordered_json(plan.expertCacheBytes);
            object["prefill_chunk_tokens"] = plan.prefillChunkTokens;
            object["prefill_chunk_bytes"] = plan.largerChunkBytes;
        } else {
            object["choice"] = choice(plan);
        }
        if (m_table) {
            object["table"] = ordered_json::array();
            for (const TableRow& row : rows)
                object["table"].push_back(tableRow(row.plan));
        }
        return object;
    }

    // What it opens with where no budget is given; null: not at all.
    static ordered_json choice(const MemoryPlan& plan)
    {
        if (!plan.check())
            return {};
        return {{"rule", nameOf(plan.rule)}, {"budget_bytes", plan.budgetBytes},
            {"expert_cache_bytes", plan.expertCacheBytes}, {"prefill_chunk_tokens", plan.prefillChunkTokens},
            {"prefill_chunk_bytes", plan.largerChunkBytes}};
    }

    std::string text(const MemoryPlan& plan, const std::vector<TableRow>& rows) const
    {
        using host::formatSize;
        std::string text = "memory plan for " + m_flags.model + " (ctx " + std::to_string(plan.contextTokens) + ")\n\n";
        text += row("resident trunk", formatSize(plan.trunkBytes)) + "\n";
        text += row("KDA state + KV cache", formatSize(plan.stateBytes)) + "\n";
        text += row("scratch", formatSize(plan.scratchBytes)) + "\n";
        if (plan.visionBytes > 0)
            text += row("vision tower", formatSize(plan.visionBytes)) + "\n";
        text += row("minimum expert cache", formatSize(plan.minimumExpertCacheBytes)) + "\n";
        text += "  " + std::string(36, '-') + "\n";
        text += row("FLOOR", formatSize(plan.floorBytes)) + "\n";
        text += row("recommended", formatSize(plan.recommendedBytes))
            + "   (floor + 3x a token's working set; this machine offers " + formatSize(plan.machine.usableBytes)
            + ")\n";
        if (plan.visionExtraBytes > 0 && plan.visionBytes == 0)
            text +=
                "\n" + row("with --image", formatSize(plan.visionExtraBytes)) + " more, taken from the expert cache\n";
        if (plan.machine.pages && hasBudget()) // else the choice says why
            text += "\n  this machine is paging: without --budget the expert cache gets half of its usual size\n";
        text += "\n" + (hasBudget() ? budgetText(plan) : choiceText(plan));
        return rows.empty() ? text : text + "\n" + tableText(rows);
    }

    static std::string shares(const MemoryPlan& plan)
    {
        return " -> expert cache " + host::formatSize(plan.expertCacheBytes) + ", prompts in chunks of "
            + std::to_string(plan.prefillChunkTokens) + " tokens\n";
    }

    std::string budgetText(const MemoryPlan& plan) const
    {
        const std::string hint = forgottenUnitHint(plan.budgetBytes);
        const std::string budget =
            hint.empty() ? host::formatSize(plan.budgetBytes) : std::to_string(plan.budgetBytes) + " bytes";
        return "  budget " + budget + (isBelowFloor(plan) ? " is BELOW the floor — open would fail\n" : shares(plan))
            + (hint.empty() ? "" : "  " + hint + "\n");
    }

    static std::string choiceText(const MemoryPlan& plan)
    {
        if (const Status opens = plan.check(); !opens)
            return "  without --budget it does not open: " + opens.error().message + "\n";
        return "  without --budget " + host::formatSize(plan.budgetBytes) + " (" + std::string(reasonForBudget(plan))
            + ")" + shares(plan);
    }

    // With a decimal, which tells the budgets of a small model apart.
    static std::string tableText(const std::vector<TableRow>& rows)
    {
        const auto size = [](std::uint64_t bytes) { return host::formatAmount(static_cast<double>(bytes)); };
        std::string text = printfText("  %11s %13s %14s\n", "budget", "expert cache", "expected hits");
        for (const auto& [plan, meaning] : rows) {
            text += printfText("  %11s %13s %14s   %s%s\n", size(plan.budgetBytes).c_str(),
                size(plan.expertCacheBytes).c_str(), expectedHitsText(plan).c_str(), meaning.c_str(),
                plan.aboveSafeShare ? "; over 7/8 of usable RAM: paging makes it far slower" : "");
        }
        return text + "  Experts that are not in the cache are read from the drive.\n";
    }

    EngineFlags m_flags;
    bool m_table = false;
};

} // namespace

std::unique_ptr<Command> makePlanCommand()
{
    return std::make_unique<PlanCommand>();
}

} // namespace waste::cli
