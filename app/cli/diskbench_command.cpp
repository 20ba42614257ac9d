#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/expected_hits.h"
#include "cli/printf_text.h"
#include "host/size_text.h"

#include "waste/disk_benchmark.h"
#include "waste/files.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace waste::cli {

namespace {

using nlohmann::ordered_json;

// Without a MODEL the reads are as large as the experts of Kimi K3, and so is a token (spec: streaming 1).
constexpr std::uint64_t kK3RecordBytes = 12'406'784;
constexpr double kK3TokenBytes = 1472.0 * kK3RecordBytes;

// What a drive is good for, by what it delivers in expert-sized random reads.
struct Verdict {
    double bytesPerSecondMin;
    std::string_view word;
    std::string_view sentence;
};
constexpr Verdict kVerdicts[] = {
    {5e9, "good", "Fast enough for the largest models."},
    {2e9, "usable", "The largest models run at a few seconds a token; smaller ones well."},
    {5e8, "slow", "The largest models take tens of seconds a token; keep smaller ones in RAM."},
    {0, "unsuitable", "Too slow to read experts from: use models that fit in RAM, or a faster drive."},
};

const Verdict& verdictOn(const DiskBenchmarkReport& report)
{
    const auto* found = std::find_if(std::begin(kVerdicts), std::end(kVerdicts),
        [&](const Verdict& verdict) { return report.bestRandomBytesPerSecond() >= verdict.bytesPerSecondMin; });
    return *found;
}

// How fast a model can be as far as the drive decides.
struct Prediction {
    std::string model;
    double coldTokensPerSecond = 0; // every expert from the drive
    double tokensPerSecond = 0; // with the cache of the plan
    double hitRate = 0;

    // With everything cached the drive decides nothing.
    [[nodiscard]] bool driveDecides() const { return hitRate < 1; }
    // In the words of kVerdicts: Kimi K3 with 64 GB of RAM, which finds about a third of its experts there, gets the
    // same one either way.
    [[nodiscard]] std::string_view word() const
    {
        if (!driveDecides() || tokensPerSecond >= 0.4)
            return "good";
        return tokensPerSecond >= 0.16 ? "usable" : tokensPerSecond >= 0.04 ? "slow" : "unsuitable";
    }
};

class DiskBenchCommand final : public Command {
public:
    Arguments declare() override
    {
        Arguments arguments("diskbench PATH [MODEL] [OPTIONS]",
            "Measures the drive that holds PATH, a file or a folder: sequential reads, and random reads of the size\n"
            "of one expert, past the page cache. A folder without large files gets a test file, which is removed\n"
            "again. With a MODEL, says how fast the drive lets it be.");
        arguments.positional(m_path);
        arguments.positional(m_flags.model);
        arguments.group("Disk");
        arguments.value("--size", "SIZE", sizeInto(m_options.testFileBytes), "size of a test file").byDefault("2G");
        arguments.value("--record", "SIZE", sizeInto(m_recordBytes), "size of a random read, a multiple of 4096")
            .byDefault("an expert of MODEL, or of K3");
        arguments.value("--seconds", "F", numberInto(m_seconds, {.min = 0.01, .max = 600}), "time for each measurement")
            .byDefault("1.5");
        declareEngineFlags(arguments, m_flags);
        return arguments;
    }

    Result<int> run(CommandContext& context) override
    {
        if (m_path.empty())
            return Error{ErrorCode::InvalidArgument, "", "PATH is missing: name a file or folder on the drive"};
        std::shared_ptr<const Container> container;
        if (!m_flags.model.empty()) {
            WASTE_TRY(container, openContainer(m_flags));
        }
        m_options.path = pathOfText(m_path);
        m_options.directIo = m_flags.options.directIo;
        m_options.recordBytes = recordBytes(container.get());
        if (m_seconds)
            m_options.timePerRun = std::chrono::milliseconds(static_cast<std::int64_t>(1000 * *m_seconds));
        Output& output = context.output;
        output.note("measuring the drive of " + m_path + ", which takes a while");
        const auto progress = [&output](const Progress& step) {
            output.progress("measuring the drive: " + std::to_string(step.done) + " of " + std::to_string(step.total));
        };
        WASTE_TRY(const DiskBenchmarkReport report, measureDisk(m_options, progress, &context.cancel));
        output.endProgress();

        std::optional<Prediction> prediction;
        if (container) {
            WASTE_TRY(prediction, predict(*container, report));
        }
        if (output.isJson())
            output.json(json(report, prediction));
        else
            output.text(text(report, prediction));
        return 0;
    }

private:
    std::uint64_t recordBytes(const Container* container) const
    {
        if (m_recordBytes > 0)
            return m_recordBytes;
        const bool hasExperts = container != nullptr && container->info().expertRecordBytes > 0;
        return hasExperts ? container->info().expertRecordBytes : kK3RecordBytes;
    }

    Result<std::optional<Prediction>> predict(const Container& container, const DiskBenchmarkReport& report) const
    {
        WASTE_TRY(const MemoryPlan plan, memoryPlan(container, m_flags));
        if (plan.workingSetBytes == 0)
            return std::optional<Prediction>();
        Prediction prediction;
        prediction.model = container.info().name;
        prediction.coldTokensPerSecond = report.bestRandomBytesPerSecond() / static_cast<double>(plan.workingSetBytes);
        prediction.hitRate = expectedHitRate(plan);
        if (prediction.driveDecides())
            prediction.tokensPerSecond = prediction.coldTokensPerSecond / (1 - prediction.hitRate);
        return std::optional(prediction);
    }

    ordered_json json(const DiskBenchmarkReport& report, const std::optional<Prediction>& prediction) const
    {
        ordered_json random = ordered_json::array();
        for (const DiskBenchmarkReport::Random& run : report.random)
            random.push_back({{"depth", run.depth}, {"bytes_per_s", run.bytesPerSecond},
                {"latency_ms_p50", run.latencyMedianMs}, {"latency_ms_p95", run.latencyP95Ms}});
        ordered_json object = {{"path", m_path}, {"file_bytes", report.fileBytes},
            {"wrote_test_file", report.wroteTestFile}, {"record_bytes", m_options.recordBytes},
            {"direct_io", report.directIo}, {"sequential_bytes_per_s", report.sequentialBytesPerSecond},
            {"random", random}, {"random_bytes_per_s", report.bestRandomBytesPerSecond()},
            {"verdict", verdictOn(report).word}};
        if (prediction) {
            object["prediction"] = {{"model", prediction->model}, {"cold_tok_per_s", prediction->coldTokensPerSecond},
                {"expected_hit_rate", prediction->hitRate},
                {"tok_per_s", prediction->driveDecides() ? ordered_json(prediction->tokensPerSecond) : ordered_json()},
                {"verdict", prediction->word()}};
        }
        return object;
    }

    std::string text(const DiskBenchmarkReport& report, const std::optional<Prediction>& prediction) const
    {
        const auto size = [](double bytes) { return host::formatAmount(bytes); };
        std::string text = "sequential        " + size(report.sequentialBytesPerSecond) + "/s\n";
        for (const DiskBenchmarkReport::Random& run : report.random)
            text += printfText("random, depth %u   %s/s  (%.2f ms a read, 95 %% within %.2f ms)\n", run.depth,
                size(run.bytesPerSecond).c_str(), run.latencyMedianMs, run.latencyP95Ms);
        text += "reads of " + size(static_cast<double>(m_options.recordBytes)) + " from "
            + size(static_cast<double>(report.fileBytes)) + (report.wroteTestFile ? " of test file\n" : "\n");
        if (!report.directIo)
            text += "The page cache could not be bypassed: these may be the figures of RAM.\n";
        return text + "\n" + (prediction ? verdictText(*prediction) : verdictText(report));
    }

    // Of the drive by itself: what it is good for.
    static std::string verdictText(const DiskBenchmarkReport& report)
    {
        const Verdict& verdict = verdictOn(report);
        return std::string(verdict.word) + ": " + std::string(verdict.sentence) + "\n"
            + printfText("Kimi K3 without a cache would take %.1f s a token.\n",
                kK3TokenBytes / std::max(report.bestRandomBytesPerSecond(), 1.0));
    }

    // Of the drive for one model, by what that model needs.
    static std::string verdictText(const Prediction& prediction)
    {
        const std::string text = std::string(prediction.word()) + " for " + prediction.model + ": ";
        if (!prediction.driveDecides())
            return text + "all its experts fit in RAM, so the drive matters only at the start.\n";
        return text
            + printfText(
                "up to %.2f tok/s from this drive with the planned cache (about %.0f %% hits), %.2f without.\n",
                prediction.tokensPerSecond, 100 * prediction.hitRate, prediction.coldTokensPerSecond);
    }

    EngineFlags m_flags;
    std::string m_path;
    std::uint64_t m_recordBytes = 0; // 0: an expert
    std::optional<double> m_seconds;
    DiskBenchmarkOptions m_options;
};

} // namespace

std::unique_ptr<Command> makeDiskBenchCommand()
{
    return std::make_unique<DiskBenchCommand>();
}

} // namespace waste::cli
