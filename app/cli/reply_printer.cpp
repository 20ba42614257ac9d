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

ReplyEvents ReplyPrinter::events()
{
    return {[this](std::uint64_t done, std::uint64_t total, double ms) { reading(done, total, ms); },
        [this](const ReplyDelta& added, const ReplyReader& reader) { delta(added, reader); }};
}

void ReplyPrinter::reading(std::uint64_t done, std::uint64_t total, double ms)
{
    const auto now = std::chrono::steady_clock::now();
    if (done < total && now - m_lastProgress < kProgressInterval)
        return;
    m_lastProgress = now;
    if (m_output.isJson())
        m_output.json({{"event", "prefill"}, {"done", done}, {"total", total}, {"ms", std::round(ms * 10) / 10}});
    else if (done < total)
        m_output.progress("reading the prompt: " + std::to_string(done) + " of " + std::to_string(total) + " tokens");
    else
        m_output.endProgress();
}

void ReplyPrinter::delta(const ReplyDelta& delta, const ReplyReader& reader)
{
    if (m_output.isJson()) {
        if (!delta.reasoning.empty())
            m_output.json({{"event", "reasoning"}, {"text", delta.reasoning}});
        if (!delta.content.empty())
            m_output.json({{"event", "content"}, {"text", delta.content}});
    } else {
        if (m_options.showThinking)
            m_output.aside(delta.reasoning);
        if (!delta.content.empty()) {
            m_output.endAside();
            m_output.text(delta.content);
        }
    }
    for (const std::size_t position : delta.calls) {
        if (reader.call(position).complete)
            toolCall(position, reader);
    }
}

void ReplyPrinter::toolCall(std::size_t position, const ReplyReader& reader)
{
    if (m_callShown.size() <= position)
        m_callShown.resize(position + 1);
    if (m_callShown[position])
        return;
    m_callShown[position] = true;
    const ToolCall call = reader.call(position);
    if (m_output.isJson()) {
        m_output.json({{"event", "tool_call"}, {"index", position}, {"id", call.id}, {"name", call.name},
            {"arguments", call.arguments}});
    } else {
        m_output.endAside();
        m_output.text("[call " + call.name + " " + call.arguments + "]\n");
    }
}

void ReplyPrinter::end(const ReplyOutcome& outcome)
{
    for (std::size_t position = 0; position < outcome.reader.callCount(); ++position)
        toolCall(position, outcome.reader); // also those that were cut
    m_output.endProgress();
    if (m_output.isJson())
        endJson(outcome);
    else
        endText(outcome);
}

void ReplyPrinter::endJson(const ReplyOutcome& outcome)
{
    ordered_json end = {{"event", "end"}, {"finish_reason", finishReasonOf(outcome)},
        {"message", ordered_json::parse(outcome.reader.messageJson(), nullptr, false)},
        {"usage", host::usageJson(outcome.report)}};
    if (m_options.statistics)
        end["stats"] = host::wasteJson(outcome.report);
    m_output.json(end);
}

void ReplyPrinter::endText(const ReplyOutcome& outcome)
{
    m_output.endAside();
    m_output.text("\n");
    if (outcome.reader.answerIsEmpty())
        m_output.note("the model ended inside its thinking: there is no answer");
    if (m_options.statistics)
        m_output.plain(statisticsLine(outcome.report) + "\n");
}

} // namespace waste::cli
