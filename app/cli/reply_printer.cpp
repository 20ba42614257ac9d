#include "cli/reply_printer.h"

#include "cli/printf_text.h"
#include "host/size_text.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace waste::cli {

namespace {

using nlohmann::ordered_json;
constexpr auto kProgressInterval = std::chrono::seconds(1);

} // namespace

std::string statisticsLine(const host::GenerationReport& report)
{
    std::string line = printfText("[%llu tokens, %.1f s, %.2f tok/s",
        static_cast<unsigned long long>(report.completionTokens), report.decodeMs / 1000, report.tokensPerSecond());
    line += printfText(" | prompt %llu in %.1f s",
        static_cast<unsigned long long>(report.promptTokens - report.cachedTokens), report.prefillMs / 1000);
    if (report.expertHits + report.expertMisses > 0)
        line += printfText(" | experts %.0f %% hit | ", 100 * report.hitRate())
            + host::formatAmount(report.bytesPerToken()) + "/token from disk";
    if (report.sampling.temperature > 0)
        line += " | seed " + std::to_string(report.sampling.seed);
    return line + "]";
}

ReplyPrinter::ReplyPrinter(Output& output, Options options)
    : m_output(output)
    , m_options(options)
{
}

void ReplyPrinter::start(const Start& start)
{
    if (m_output.isJson())
        m_output.json({{"event", "start"}, {"model", start.model}, {"ctx", start.contextTokens},
            {"prompt_tokens", start.promptTokens}, {"cached_tokens", start.cachedTokens},
            {"seed", std::to_string(start.seed)}, {"thinking", start.thinking},
            {"effort", start.effort.empty() ? ordered_json() : ordered_json(start.effort)}});
}

void ReplyPrinter::reading(std::uint64_t done, std::uint64_t total, double ms)
{
    const auto now = std::chrono::steady_clock::now();
    if (done == 0 || (done < total && now - m_lastProgress < kProgressInterval))
        return;
    m_lastProgress = now;
    if (m_output.isJson())
        m_output.json({{"event", "prefill"}, {"done", done}, {"total", total}, {"ms", std::round(ms * 10) / 10}});
    else if (done < total)
        m_output.progress("reading the prompt: " + std::to_string(done) + " of " + std::to_string(total) + " tokens");
    else
        m_output.endProgress();
}

void ReplyPrinter::text(const ReplyDelta& delta)
{
    if (m_output.isJson()) {
        if (!delta.reasoning.empty())
            m_output.json({{"event", "reasoning"}, {"text", delta.reasoning}});
        if (!delta.content.empty())
            m_output.json({{"event", "content"}, {"text", delta.content}});
        return;
    }
    if (m_options.showThinking)
        m_output.aside(delta.reasoning);
    if (!delta.content.empty()) {
        m_output.endAside();
        m_output.text(delta.content);
    }
}

void ReplyPrinter::toolCall(std::size_t position, const ToolCall& call)
{
    if (m_callShown.size() <= position)
        m_callShown.resize(position + 1);
    if (m_callShown[position])
        return;
    m_callShown[position] = true;
    if (m_output.isJson()) {
        m_output.json({{"event", "tool_call"}, {"index", position}, {"id", call.id}, {"name", call.name},
            {"arguments", call.arguments}});
        return;
    }
    m_output.endAside();
    m_output.text("[call " + call.name + " " + call.arguments + "]\n");
}

void ReplyPrinter::end(const ReplySummary& summary)
{
    m_output.endProgress();
    for (std::size_t position = 0; position < summary.calls.size(); ++position)
        toolCall(position, summary.calls[position]);
    if (m_output.isJson())
        endJson(summary);
    else
        endText(summary);
}

void ReplyPrinter::endJson(const ReplySummary& summary)
{
    ordered_json end = {{"event", "end"}, {"finish_reason", summary.finishReason},
        {"message", ordered_json::parse(summary.messageJson, nullptr, false)},
        {"usage", host::usageJson(summary.report)}};
    if (m_options.statistics)
        end["stats"] = host::wasteJson(summary.report);
    m_output.json(end);
}

void ReplyPrinter::endText(const ReplySummary& summary)
{
    m_output.endAside();
    m_output.text("\n");
    if (summary.report.emptyAnswer)
        m_output.note("the model ended inside its thinking: there is no answer");
    if (m_options.statistics)
        m_output.plain(statisticsLine(summary.report) + "\n");
}

} // namespace waste::cli
