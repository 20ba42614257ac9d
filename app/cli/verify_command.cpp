#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/printf_text.h"
#include "host/error_table.h"
#include "host/size_text.h"

#include "waste/verifier.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <string>

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

    void done(const VerifyReport& report)
    {
        m_output.endProgress();
        const double seconds = std::chrono::duration<double>(Clock::now() - m_start).count();
        if (m_output.isJson()) {
            m_output.json({{"event", "done"}, {"records", report.recordsChecked}, {"damaged", report.damageCount},
                {"bytes", report.bytesRead}, {"seconds", seconds}});
            return;
        }
        m_output.text(
            printfText("%llu experts, %s read in %.1f s: ", static_cast<unsigned long long>(report.recordsChecked),
                host::formatAmount(static_cast<double>(report.bytesRead)).c_str(), seconds)
            + (report.damageCount == 0
                    ? "no damage\n"
                    : printfText("%llu damaged\n", static_cast<unsigned long long>(report.damageCount))));
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
    static std::string text(const Damage& damage)
    {
        return "damaged: " + damage.file + " at " + std::to_string(damage.offset) + ": " + damage.error.message + "\n";
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
        return arguments;
    }

    Result<int> run(CommandContext& context) override
    {
        WASTE_TRY(const auto container, openContainer(m_flags));
        VerifyReporter reporter(context.output);
        WASTE_TRY(const VerifyReport report,
            verifyContainer(
                *container, m_options, [&](const Damage& damage) { reporter.damage(damage); },
                [&](const Progress& progress) { reporter.progress(progress); }, context.cancel));
        reporter.done(report);
        return report.damageCount == 0 ? 0 : host::errorKind(ErrorCode::Corrupt).exitCode;
    }

private:
    EngineFlags m_flags;
    VerifyOptions m_options;
};

} // namespace

std::unique_ptr<Command> makeVerifyCommand()
{
    return std::make_unique<VerifyCommand>();
}

} // namespace waste::cli
