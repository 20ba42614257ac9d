#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/printf_text.h"
#include "host/count_text.h"
#include "host/error_table.h"
#include "host/size_text.h"

#include "waste/verifier.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace waste::cli {

namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kLayersMax = 127;

// Tells what a pass over a container finds: one JSON object a line, or a line for each damage and a moving one
// for progress on a terminal.
class VerifyReporter {
public:
    explicit VerifyReporter(Output& output)
        : m_output(output)
    {
    }

    void damage(const Damage& damage)
    {
        if (m_output.isJson())
            m_output.json(json(damage));
        else
            m_output.text(text(damage));
    }

    void progress(const Progress& progress)
    {
        const auto now = Clock::now();
        if (progress.total == 0 || now - m_lastProgress < std::chrono::seconds(1))
            return;
        m_lastProgress = now;
        if (m_output.isJson())
            m_output.json(
                {{"event", "progress"}, {"stage", progress.stage}, {"done", progress.done}, {"total", progress.total}});
        else
            m_output.progress("verifying: " + std::string(progress.stage)
                + printfText(
                    " %.0f %%", 100 * static_cast<double>(progress.done) / static_cast<double>(progress.total)));
    }

    // `comparison` is null if there was none.
    void done(const VerifyReport& report, const SourceComparison* comparison)
    {
        m_output.endProgress();
        const double seconds = std::chrono::duration<double>(Clock::now() - m_start).count();
        if (m_output.isJson()) {
            ordered_json object = {{"event", "done"}, {"records", report.recordsChecked},
                {"damaged", report.damageCount + (comparison != nullptr ? comparison->damageCount : 0)},
                {"bytes", report.bytesRead}, {"seconds", seconds}, {"integrity", report.integrityChecked}};
            if (comparison != nullptr)
                addComparison(object, *comparison);
            m_output.json(object);
            return;
        }
        m_output.text(host::countText(report.recordsChecked, "expert")
            + printfText(
                ", %s read in %.1f s: ", host::formatAmount(static_cast<double>(report.bytesRead)).c_str(), seconds)
            + (report.damageCount == 0
                    ? "no damage\n"
                    : printfText("%llu damaged\n", static_cast<unsigned long long>(report.damageCount))));
        if (!report.integrityChecked)
            m_output.detail("there is no integrity.json: side files and unused bytes were not checked");
        if (comparison != nullptr)
            m_output.text(comparisonText(*comparison));
    }

private:
    static ordered_json json(const Damage& damage)
    {
        ordered_json object = {{"event", "damage"}, {"file", damage.file}};
        if (!damage.tensor.empty())
            object["tensor"] = damage.tensor;
        object["layer"] = damage.layer ? ordered_json(*damage.layer) : ordered_json();
        object["expert"] = damage.expert ? ordered_json(*damage.expert) : ordered_json();
        object["offset"] = damage.offset;
        object["reason"] = damage.error.reason;
        object["message"] = damage.error.message;
        return object;
    }
    static void addComparison(ordered_json& object, const SourceComparison& comparison)
    {
        object["matrices"] = comparison.matrixCount;
        object["expert_error"] = comparison.expertError;
        object["trunk_error"] = comparison.trunkError;
        object["by_layer"] = ordered_json::object();
        for (const auto& [layer, kinds] : comparison.byLayer)
            object["by_layer"][std::to_string(layer)] = kinds;
        object["outside"] = comparison.outside;
    }
    // One line a kind of matrix: its mean over the layers, and where it is worst.
    static std::string comparisonText(const SourceComparison& comparison)
    {
        struct Kind {
            double sum = 0;
            std::uint32_t count = 0;
            double worst = 0;
            std::uint32_t worstLayer = 0;
        };
        std::map<std::string, Kind> kinds;
        for (const auto& [layer, errors] : comparison.byLayer) {
            for (const auto& [name, error] : errors) {
                Kind& kind = kinds[name];
                kind.sum += error;
                ++kind.count;
                if (error >= kind.worst) {
                    kind.worst = error;
                    kind.worstLayer = layer;
                }
            }
        }
        std::string text =
            printfText("%llu matrices compared with their source; errors: experts %.2f %%, trunk %.2f %%\n",
                static_cast<unsigned long long>(comparison.matrixCount), 100 * comparison.expertError,
                100 * comparison.trunkError);
        for (const auto& [name, kind] : kinds)
            text += printfText("  %-40s %6.2f %%   worst %6.2f %% in layer %u\n", name.c_str(),
                100 * kind.sum / kind.count, 100 * kind.worst, kind.worstLayer);
        for (const auto& [name, error] : comparison.outside)
            text += printfText("  %-40s %6.2f %%\n", name.c_str(), 100 * error);
        return text;
    }
    // The file's name once, and an offset where less than the file is meant. What could not be read says both itself.
    static std::string text(const Damage& damage)
    {
        std::string_view message = damage.error.message;
        if (damage.error.code == ErrorCode::Io || damage.error.reason == "short_file")
            return "damaged: " + std::string(message) + "\n";
        const bool isWholeFile = damage.tensor.empty() && !damage.expert && damage.offset == 0;
        if (isWholeFile && message.starts_with(damage.file))
            return "damaged: " + std::string(message) + "\n";
        if (message.starts_with(damage.file + ": "))
            message.remove_prefix(damage.file.size() + 2);
        const std::string place = isWholeFile ? "" : " at offset " + std::to_string(damage.offset);
        return "damaged: " + damage.file + place + ": " + std::string(message) + "\n";
    }

    Output& m_output;
    const Clock::time_point m_start = Clock::now();
    Clock::time_point m_lastProgress = m_start;
};

class VerifyCommand final : public Command {
public:
    Arguments declare() override
    {
        Arguments arguments("verify MODEL [OPTIONS]",
            "Reads a whole model and checks its checksums. Every damaged place is listed; exit code 4 if there is "
            "any.");
        declareModel(arguments, m_flags);
        arguments.group("Verification");
        arguments.flag("--fast", m_options.headersOnly, "only the experts' headers, no checksums");
        arguments.value("--layer", "N", wholeNumberInto(m_options.layer, 0, kLayersMax),
            "only the experts of this layer, counted from 0");
        arguments.value("--against", "CHECKPOINT", into(m_checkpoint),
            "compare every weight with what the model was made from, and print the errors");
        arguments.value("--jobs", "N", wholeNumberInto(m_jobs, 0, 4096), "threads that compare")
            .byDefault("one per core");
        arguments.flag("--write-integrity", m_options.writeIntegrity,
            "write the checksums of all files into the model, if nothing is damaged");
        return arguments;
    }

    Result<int> run(CommandContext& context) override
    {
        WASTE_TRY(const auto container, openContainer(m_flags));
        VerifyReporter reporter(context.output);
        for (const ModelInfo::BankFolder& folder : container->info().bankFolders)
            context.output.note("experts of " + host::countText(folder.layers, "layer") + " are in " + folder.path);
        const auto tellDamage = [&](const Damage& damage) { reporter.damage(damage); };
        const auto tellProgress = [&](const Progress& progress) { reporter.progress(progress); };
        WASTE_TRY(const VerifyReport report,
            verifyContainer(*container, m_options, tellDamage, tellProgress, context.cancel));
        std::optional<SourceComparison> comparison;
        // Damaged records decode to nonsense, whose distance from anything tells nothing.
        if (!m_checkpoint.empty() && report.damageCount == 0) {
            const CompareOptions compare = {.container = container->path(),
                .checkpoint = m_checkpoint,
                .layer = m_options.layer,
                .threadCount = m_jobs};
            WASTE_TRY(comparison, compareWithSource(compare, tellDamage, tellProgress, context.cancel));
        }
        reporter.done(report, comparison ? &*comparison : nullptr);
        const bool isWhole = report.damageCount == 0 && (!comparison || comparison->damageCount == 0);
        return isWhole ? 0 : host::errorKind(ErrorCode::Corrupt).exitCode;
    }

private:
    EngineFlags m_flags;
    VerifyOptions m_options;
    std::filesystem::path m_checkpoint;
    std::uint32_t m_jobs = 0;
};

} // namespace

std::unique_ptr<Command> makeVerifyCommand()
{
    return std::make_unique<VerifyCommand>();
}

} // namespace waste::cli
