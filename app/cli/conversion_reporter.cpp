#include "cli/conversion_reporter.h"

#include "cli/printf_text.h"
#include "host/count_text.h"
#include "host/duration_text.h"
#include "host/size_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <variant>

namespace waste::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t kBarWidth = 16; // with everything behind it still one line of 80 columns

ordered_json errorsJson(const ExpertErrors& errors)
{
    return {{"gate", errors.gate}, {"up", errors.up}, {"down", errors.down}};
}

double meanError(const ExpertErrors& errors)
{
    return (errors.gate + errors.up + errors.down) / 3;
}

} // namespace

void ConversionReporter::operator()(const ConvertEvent& event)
{
    m_pace.observe(event, Clock::now());
    std::visit([this](const auto& what) { m_output.isJson() ? json(what) : text(what); }, event);
}

void ConversionReporter::json(const ConvertPlan& plan)
{
    m_output.json({{"event", "plan"}, {"settings", plan.settings}, {"container_bytes", plan.containerBytes},
        {"layers", plan.layers}, {"layers_kept", plan.layersKept}, {"experts", plan.expertCount},
        {"expert_bytes", plan.expertBytes}, {"memory_bytes", plan.memoryBytes}, {"trunk_bytes", plan.trunkBytes},
        {"trunk_bytes_kept", plan.trunkBytesKept}});
}

void ConversionReporter::text(const ConvertPlan& plan)
{
    const std::size_t layers = plan.layers.size() + plan.layersKept.size();
    m_expertsPerLayer = layers > 0 ? plan.expertCount / layers : 0;
    m_output.detail("settings: " + plan.settings);
    if (plan.layers.empty() && plan.trunkBytesKept == plan.trunkBytes) {
        m_output.note("an earlier run has converted everything: " + host::countText(layers, "layer")
            + " with experts and the trunk, all checked just now");
        return;
    }
    if (!plan.layersKept.empty() || plan.trunkBytesKept > 0)
        m_output.note("an earlier run has finished " + std::to_string(plan.layersKept.size()) + " of "
            + host::countText(layers, "layer")
            + printfText(" with experts and %.0f %% of the trunk; they are checked and kept",
                100 * static_cast<double>(plan.trunkBytesKept)
                    / static_cast<double>(std::max<std::uint64_t>(1, plan.trunkBytes))));
    m_output.note("converting " + host::countText(plan.layers.size(), "layer") + " with experts; the model will take "
        + host::formatSize(plan.containerBytes) + ", converting it " + host::formatSize(plan.memoryBytes)
        + " of RAM; Ctrl-C stops safely");
}

void ConversionReporter::json(const ConvertLayerStart& start)
{
    m_output.json({{"event", "layer_start"}, {"layer", start.layer}});
}

void ConversionReporter::text(const ConvertLayerStart& start)
{
    m_layer = start.layer;
}

// A conversion reports every expert; once a second is enough for people and for pipes.
bool ConversionReporter::progressIsDue(const Progress& progress)
{
    const auto now = Clock::now();
    if (progress.total == 0 || (progress.done != progress.total && now - m_lastProgress < std::chrono::seconds(1)))
        return false;
    m_lastProgress = now;
    return true;
}

void ConversionReporter::json(const Progress& progress)
{
    if (!progressIsDue(progress))
        return;
    ordered_json object = {
        {"event", "progress"}, {"stage", progress.stage}, {"done", progress.done}, {"total", progress.total}};
    if (progress.stage != "checking") {
        object["experts_done"] = m_pace.expertsDone();
        object["experts"] = m_pace.expertCount();
    }
    if (const double rate = m_pace.bytesPerSecond(); rate > 0)
        object["bytes_per_s"] = std::llround(rate);
    if (const auto remaining = m_pace.remaining())
        object["seconds_left"] = remaining->count();
    m_output.json(object);
}

void ConversionReporter::text(const Progress& progress)
{
    if (progressIsDue(progress))
        m_output.progress(bar(progress));
}

std::string ConversionReporter::bar(const Progress& progress) const
{
    const double share = std::clamp(m_pace.finishedShare(), 0.0, 1.0);
    const auto filled = static_cast<std::size_t>(share * kBarWidth);
    std::string line = '[' + std::string(filled, '#') + std::string(kBarWidth - filled, '-') + ']';
    line += printfText(" %5.1f %%  ", 100 * share) + workInHand(progress);
    if (const double rate = m_pace.bytesPerSecond(); rate > 0)
        line += "  " + host::formatAmount(rate) + "/s";
    if (const auto remaining = m_pace.remaining(); remaining && progress.stage != "checking")
        line += "  " + host::formatDuration(*remaining) + " left";
    return line;
}

std::string ConversionReporter::workInHand(const Progress& progress) const
{
    if (progress.stage != "experts")
        return progress.stage == "checking" ? "checking what is there" : std::string(progress.stage);
    std::string text = "layer " + std::to_string(m_layer);
    if (m_expertsPerLayer > 0 && m_pace.expertsDone() > 0)
        text += ", expert " + std::to_string((m_pace.expertsDone() - 1) % m_expertsPerLayer + 1) + "/"
            + std::to_string(m_expertsPerLayer);
    return text;
}

void ConversionReporter::json(const ConvertWaiting& waiting)
{
    if (waiting.cause == ConvertWaiting::Cause::Download)
        m_output.json({{"event", "waiting"}, {"cause", "download"}});
    else
        m_output.json({{"event", "waiting"}, {"cause", "no_space"}, {"bytes_needed", waiting.bytesNeeded},
            {"bytes_free", waiting.bytesFree}});
}

void ConversionReporter::text(const ConvertWaiting& waiting)
{
    if (waiting.cause == ConvertWaiting::Cause::Download) {
        m_output.progress("waiting for the download");
        return;
    }
    m_output.note("the drive is full: waiting for " + host::formatSize(waiting.bytesNeeded) + " ("
        + host::formatSize(waiting.bytesFree) + " are free); Ctrl-C stops safely");
}

void ConversionReporter::json(const ConvertReclaimed& reclaimed)
{
    m_output.json({{"event", "reclaimed"}, {"name", reclaimed.shard}, {"bytes", reclaimed.bytes},
        {"freed_total", reclaimed.freedBytes}, {"deleted", reclaimed.isDeleted}});
}

void ConversionReporter::text(const ConvertReclaimed& reclaimed)
{
    m_output.note(reclaimed.shard + (reclaimed.isDeleted ? " deleted, " : " is not needed any more, ")
        + host::formatSize(reclaimed.freedBytes) + (reclaimed.isDeleted ? " freed so far" : " could be freed so far"));
}

void ConversionReporter::json(const ConvertLayerDone& done)
{
    m_output.json({{"event", "layer_done"}, {"layer", done.layer}, {"bytes", done.bytes},
        {"errors", errorsJson(done.errors)}, {"seconds", done.seconds}});
}

void ConversionReporter::text(const ConvertLayerDone& done)
{
    m_output.note(printfText("layer %u: %s, error %.1f %%, %.1f s", done.layer,
        host::formatAmount(static_cast<double>(done.bytes)).c_str(), 100 * meanError(done.errors), done.seconds));
    m_lastProgress = {}; // the line has taken the bar's place
}

void ConversionReporter::json(const ConvertReport& report)
{
    m_output.json(
        {{"event", "done"}, {"container_bytes", report.containerBytes}, {"layers_converted", report.layersConverted},
            {"layers_kept", report.layersKept}, {"expert_error", meanError(report.errors)},
            {"trunk_error", report.trunkError}, {"warnings", report.warnings}, {"seconds", report.seconds}});
}

void ConversionReporter::text(const ConvertReport& report) // its warnings have been told when they came up
{
    std::string line =
        printfText("done in %.1f s: %s", report.seconds, host::formatSize(report.containerBytes).c_str());
    // Errors are measured while weights are encoded; of those that were kept only the experts' are on record.
    const double experts = meanError(report.errors);
    if (experts > 0)
        line += printfText("; errors: experts %.1f %%", 100 * experts);
    if (report.trunkError > 0)
        line += printfText("%s trunk %.1f %%", experts > 0 ? "," : "; errors:", 100 * report.trunkError);
    m_output.note(line);
}

} // namespace waste::cli
