#include "cli/command.h"
#include "host/size_text.h"

#include "waste/converter.h"
#include "waste/files.h"

#include <nlohmann/json.hpp>

#include <array>
#include <chrono>
#include <cstdio>
#include <type_traits>

namespace waste::cli {

namespace {

using nlohmann::ordered_json;

ordered_json errorsJson(const ExpertErrors& errors)
{
    return {{"gate", errors.gate}, {"up", errors.up}, {"down", errors.down}};
}

double meanError(const ExpertErrors& errors)
{
    return (errors.gate + errors.up + errors.down) / 3;
}

std::string print(const char* format, auto... values)
{
    std::array<char, 256> buffer{};
    std::snprintf(buffer.data(), buffer.size(), format, values...);
    return buffer.data();
}

// Tells the converter's events: one JSON object a line, or a few lines and a moving one on a terminal.
class ConversionReporter {
public:
    explicit ConversionReporter(Output& output)
        : m_output(output)
    {
    }

    void operator()(const ConvertEvent& event)
    {
        std::visit([this](const auto& what) { m_output.isJson() ? json(what) : text(what); }, event);
    }

private:
    void json(const ConvertPlan& plan)
    {
        m_output.json({{"event", "plan"}, {"container_bytes", plan.containerBytes}, {"layers", plan.layers},
            {"layers_kept", plan.layersKept}});
    }
    void text(const ConvertPlan& plan)
    {
        m_output.note("converting " + std::to_string(plan.layers.size()) + " layers with experts, "
            + std::to_string(plan.layersKept.size()) + " are there already; the model will take "
            + host::formatSize(plan.containerBytes));
    }

    void json(const ConvertLayerStart& start) { m_output.json({{"event", "layer_start"}, {"layer", start.layer}}); }
    void text(const ConvertLayerStart& start) { m_layer = start.layer; }

    // A conversion reports every expert; once a second is enough for people and for pipes.
    bool progressIsDue(const Progress& progress)
    {
        const auto now = std::chrono::steady_clock::now();
        if (progress.done != progress.total && now - m_lastProgress < std::chrono::seconds(1))
            return false;
        m_lastProgress = now;
        return true;
    }
    void json(const Progress& progress)
    {
        if (progressIsDue(progress))
            m_output.json(
                {{"event", "progress"}, {"stage", progress.stage}, {"done", progress.done}, {"total", progress.total}});
    }
    void text(const Progress& progress)
    {
        if (progress.total > 0 && progressIsDue(progress))
            m_output.progress(
                print("%.1f %%  ", 100 * static_cast<double>(progress.done) / static_cast<double>(progress.total))
                + describe(progress.stage));
    }
    [[nodiscard]] std::string describe(std::string_view stage) const
    {
        if (stage == "experts")
            return "layer " + std::to_string(m_layer);
        return stage == "checking" ? "checking what is there" : std::string(stage);
    }

    void json(const ConvertWaiting& waiting)
    {
        if (waiting.cause == ConvertWaiting::Cause::Download)
            m_output.json({{"event", "waiting"}, {"cause", "download"}});
        else
            m_output.json({{"event", "waiting"}, {"cause", "no_space"}, {"bytes_needed", waiting.bytesNeeded},
                {"bytes_free", waiting.bytesFree}});
    }
    void text(const ConvertWaiting& waiting)
    {
        if (waiting.cause == ConvertWaiting::Cause::Download) {
            m_output.progress("waiting for the download");
            return;
        }
        m_output.note("the drive is full: waiting for " + host::formatSize(waiting.bytesNeeded) + " ("
            + host::formatSize(waiting.bytesFree) + " are free); Ctrl-C stops safely");
    }

    void json(const ConvertReclaimed& reclaimed)
    {
        m_output.json({{"event", "reclaimed"}, {"name", reclaimed.shard}, {"bytes", reclaimed.bytes},
            {"freed_total", reclaimed.freedBytes}, {"deleted", reclaimed.isDeleted}});
    }
    void text(const ConvertReclaimed& reclaimed)
    {
        m_output.note(reclaimed.shard + (reclaimed.isDeleted ? " deleted, " : " is not needed any more, ")
            + host::formatSize(reclaimed.freedBytes)
            + (reclaimed.isDeleted ? " freed so far" : " could be freed so far"));
    }

    void json(const ConvertLayerDone& done)
    {
        m_output.json({{"event", "layer_done"}, {"layer", done.layer}, {"bytes", done.bytes},
            {"errors", errorsJson(done.errors)}, {"seconds", done.seconds}});
    }
    void text(const ConvertLayerDone& done)
    {
        m_output.note(print("layer %u: %s, error %.1f %%, %.1f s", done.layer,
            host::formatAmount(static_cast<double>(done.bytes)).c_str(), 100 * meanError(done.errors), done.seconds));
    }

    void json(const ConvertReport& report)
    {
        m_output.json({{"event", "done"}, {"container_bytes", report.containerBytes},
            {"layers_converted", report.layersConverted}, {"layers_kept", report.layersKept},
            {"expert_error", meanError(report.errors)}, {"trunk_error", report.trunkError},
            {"warnings", report.warnings}, {"seconds", report.seconds}});
    }
    void text(const ConvertReport& report) // its warnings have been told when they came up
    {
        m_output.note(print("done in %.1f s: %s; errors: experts %.1f %%, trunk %.1f %%", report.seconds,
            host::formatSize(report.containerBytes).c_str(), 100 * meanError(report.errors), 100 * report.trunkError));
    }

    Output& m_output;
    std::uint32_t m_layer = 0;
    std::chrono::steady_clock::time_point m_lastProgress;
};

class ConvertCommand final : public Command {
public:
    Arguments declare() override
    {
        Arguments arguments("convert --src DIR --out MODEL [OPTIONS]",
            "Makes a model of a published checkpoint (config.json, safetensors shards, tokenizer). What an\n"
            "interrupted run has finished is kept: the same command again goes on.");
        arguments.group("Conversion");
        arguments.value("--src", "DIR", into(m_options.source), "the checkpoint");
        arguments.value("--out", "MODEL", into(m_options.target), "the model's folder, by custom NAME.waste");
        arguments.value("--jobs", "N", wholeNumberInto(m_options.threadCount, 0, 4096), "compute threads")
            .byDefault("one per core");
        arguments
            .value("--expert-format", "FORMAT",
                choiceInto<ExpertFormat, ExpertFormat>(m_options.expertFormat,
                    {{"vq3r", ExpertFormat::Vq3r}, {"vq4p", ExpertFormat::Vq4p}, {"vq2r", ExpertFormat::Vq2r}}),
                "vq3r, vq4p (3 bits a weight) or vq2r (2 bits, loses much)")
            .byDefault("vq3r");
        arguments
            .value("--trunk-bits", "N",
                choiceInto<std::uint32_t, std::uint32_t>(m_options.trunkBits, {{"3", 3}, {"4", 4}, {"8", 8}}),
                "3, 4 or 8 bits for the resident matrices")
            .byDefault("4");
        arguments.flag("--follow", m_options.follow,
            "the checkpoint is still being downloaded by waste: take shards as they come");
        arguments
            .value("--reclaim", "MODE",
                choiceInto<Reclaim, Reclaim>(
                    m_options.reclaim, {{"off", Reclaim::Off}, {"dry", Reclaim::Dry}, {"on", Reclaim::On}}),
                "on deletes shards that are used up, for good; dry says which")
            .byDefault("off");
        arguments.flag("--i-can-download-again", m_options.canDownloadAgain,
            "delete shards also where they were not downloaded by waste");
        arguments.flag("--force", m_options.force, "replace what MODEL holds");
        return arguments;
    }

    Result<int> run(CommandContext& context) override
    {
        if (m_options.source.empty() || m_options.target.empty())
            return Error{ErrorCode::InvalidArgument, "", "convert needs --src DIR and --out MODEL"};
        if (m_options.expertFormat == ExpertFormat::Vq2r)
            context.output.warning("vq2r stores experts with an error of about a third; answers suffer");
        m_options.log = [&](LogLevel level, std::string_view message) {
            if (level == LogLevel::Warning)
                context.output.warning(message);
            else
                context.output.detail(message);
        };
        ConversionReporter report(context.output);
        auto converted = convert(
            m_options, [&](const ConvertEvent& event) { report(event); }, &context.cancel);
        if (!converted)
            return converted.error();
        return 0;
    }

private:
    ConvertOptions m_options;
};

} // namespace

std::unique_ptr<Command> makeConvertCommand()
{
    return std::make_unique<ConvertCommand>();
}

} // namespace waste::cli
