#include "host/generation_report.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace waste::host {

namespace {

using nlohmann::ordered_json;

double rounded(double value, double steps)
{
    return std::round(value * steps) / steps;
}

ordered_json textOrNull(const std::string& text)
{
    return text.empty() ? ordered_json() : ordered_json(text);
}

} // namespace

void GenerationReport::addStatistics(const Statistics& before, const Statistics& after)
{
    expertHits += after.expertHits - before.expertHits;
    expertMisses += after.expertMisses - before.expertMisses;
    bytesRead += after.bytesRead - before.bytesRead;
    directIo = after.directIo;
}

double GenerationReport::tokensPerSecond() const
{
    return decodeMs > 0 ? 1000 * static_cast<double>(completionTokens) / decodeMs : 0;
}

double GenerationReport::hitRate() const
{
    const auto accesses = static_cast<double>(expertHits + expertMisses);
    return accesses > 0 ? static_cast<double>(expertHits) / accesses : 0;
}

double GenerationReport::bytesPerToken() const
{
    const auto tokens = static_cast<double>(promptTokens - cachedTokens + completionTokens);
    return tokens > 0 ? static_cast<double>(bytesRead) / tokens : 0;
}

ordered_json usageJson(const GenerationReport& report)
{
    return {{"prompt_tokens", report.promptTokens}, {"completion_tokens", report.completionTokens},
        {"total_tokens", report.promptTokens + report.completionTokens},
        {"prompt_tokens_details", {{"cached_tokens", report.cachedTokens}}},
        {"completion_tokens_details", {{"reasoning_tokens", report.reasoningTokens}}}};
}

ordered_json wasteJson(const GenerationReport& report)
{
    const bool hasAccesses = report.expertHits + report.expertMisses > 0;
    ordered_json object = {{"tokens_generated", report.completionTokens},
        {"prompt_tokens_computed", report.promptTokens - report.cachedTokens}, {"experts_hit", report.expertHits},
        {"experts_missed", report.expertMisses},
        {"expert_hit_rate", hasAccesses ? ordered_json(rounded(report.hitRate(), 1e4)) : ordered_json()},
        {"bytes_read", report.bytesRead}, {"direct_io", report.directIo}, {"queue_ms", rounded(report.queueMs, 10)},
        {"prefill_ms", rounded(report.prefillMs, 10)}, {"decode_ms", rounded(report.decodeMs, 10)},
        {"ms", rounded(report.queueMs + report.prefillMs + report.decodeMs, 10)},
        {"tok_per_s", rounded(report.tokensPerSecond(), 1e4)}, {"seed", std::to_string(report.sampling.seed)},
        {"thinking", report.thinking}, {"effort", textOrNull(report.effort)}, {"session", textOrNull(report.session)},
        {"warnings", report.warnings}, {"temperature", report.sampling.temperature}, {"top_p", report.sampling.topP}};
    if (report.droppedCalls > 0)
        object["dropped_calls"] = report.droppedCalls;
    if (report.emptyAnswer)
        object["empty_answer"] = true;
    return object;
}

std::string_view finishReason(const ReplyReader& reader, FinishReason reason)
{
    for (std::size_t position = 0; position < reader.callCount(); ++position) {
        if (reader.call(position).complete)
            return "tool_calls";
    }
    if (reader.stopStringMatched() || reader.messageEnded())
        return "stop";
    const bool isLimit = reason == FinishReason::Limit || reason == FinishReason::ContextFull;
    return isLimit ? "length" : "stop";
}

} // namespace waste::host
