#include "cli/engine_flags.h"

#include "cli/printf_text.h"
#include "host/size_text.h"

#include "waste/files.h"

#include <utility>

namespace waste::cli {

namespace {

constexpr std::uint32_t kContextTokensMax = 1 << 24;
constexpr std::uint32_t kThreadsMax = 1024;
constexpr std::uint32_t kLookaheadWidthMax = 8;
constexpr std::uint32_t kLookaheadWidthOn = 6; // right four times out of five on Kimi K3 (spec: model 11)

ValueParser lookaheadInto(std::optional<std::uint32_t>& width)
{
    return [&width](std::string_view text) -> Status {
        if (text == "auto") {
            width.reset();
            return {};
        }
        width = text == "on" ? kLookaheadWidthOn : 0;
        if (text == "on" || text == "off" || wholeNumberInto(*width, 0, kLookaheadWidthMax)(text))
            return {};
        return Error{ErrorCode::InvalidArgument, "", "'" + std::string(text) + "' is none of on, off, auto, 0 to 8"};
    };
}

ValueParser fileInto(std::filesystem::path& file)
{
    return [&file](std::string_view text) -> Status {
        file = pathOfText(text);
        return {};
    };
}

} // namespace

void declareModel(Arguments& arguments, EngineFlags& flags)
{
    arguments.positional(flags.model, "WASTE_MODEL");
}

void declareEngineFlags(Arguments& arguments, EngineFlags& flags)
{
    EngineOptions& options = flags.options;
    arguments.group("Engine");
    arguments.value("--budget", "SIZE", sizeInto(options.budgetBytes), "hard RAM ceiling, for example 46G")
        .byDefault("chosen for this machine")
        .environment("WASTE_BUDGET");
    arguments.value("--ctx", "N", wholeNumberInto(options.contextTokens, 1, kContextTokensMax), "context in tokens")
        .byDefault("4096");
    arguments.value("--threads", "N", wholeNumberInto(options.threadCount, 0, kThreadsMax), "compute threads")
        .byDefault("one per core")
        .environment("WASTE_THREADS");
    arguments.value("--cpus", "LIST", cpuListInto(options.cpus), "CPUs to compute on, for example 0-5")
        .environment("WASTE_CPUS");
    arguments
        .value("--cache", "POLICY",
            choiceInto<CachePolicy, CachePolicy>(options.cachePolicy,
                {{"age", CachePolicy::Age}, {"lfru", CachePolicy::Lfru}, {"lru", CachePolicy::Lru}}),
            "which expert leaves the cache: age, lfru, lru")
        .byDefault("age");
    arguments
        .value("--lookahead", "N", lookaheadInto(options.lookahead),
            "experts of the next layer to read on a guess: on (6), off (0), auto, 1 to 8")
        .byDefault("auto")
        .environment("WASTE_LOOKAHEAD");
    arguments.flag("--verify", options.verifyRecords, "check each expert's checksum when it is read")
        .environment("WASTE_VERIFY");
    arguments
        .flag(
            "--no-direct-io", [&options] { options.directIo = false; },
            "read through the page cache, which keeps what it can")
        .environmentInverted("WASTE_DIRECT");
    arguments.flag("--exact", options.exact, "use exact kernels only");

    arguments.flag(
        "--vision", [&options] { options.vision = VisionUse::FromTheStart; },
        "load the vision tower also without a picture");

    arguments.flag("--learn", options.learn, "save the expert hot list at the end");
    arguments.value("--usage", "FILE", fileInto(options.usageFile), "another hot list than the model's own");
    arguments.flag("--lock-trunk", options.lockTrunk, "keep the trunk from being paged out");
}

Result<std::filesystem::path> modelFolder(const EngineFlags& flags)
{
    if (flags.model.empty())
        return Error{ErrorCode::InvalidArgument, "", "MODEL is missing: name a model's folder, or set WASTE_MODEL"};
    return pathOfText(flags.model);
}

Result<std::shared_ptr<const Container>> openContainer(const EngineFlags& flags)
{
    WASTE_TRY(const auto folder, modelFolder(flags));
    return Container::open(folder);
}

Result<MemoryPlan> memoryPlan(const Container& container, const EngineFlags& flags)
{
    const EngineOptions& options = flags.options;
    MemoryPlan::Request request;
    request.budgetBytes = options.budgetBytes;
    request.contextTokens = options.contextTokens;
    request.threadCount =
        options.threadCount > 0 ? options.threadCount : static_cast<std::uint32_t>(options.cpus.size());
    request.prefillChunkTokens = options.prefillChunkTokens;
    request.vision = options.vision;
    request.programBytes = options.programBytes;
    return MemoryPlan::compute(container, request, Machine::detect());
}

std::string forgottenUnitHint(std::uint64_t budgetBytes)
{
    constexpr std::uint64_t kSmallestBudget = 1 << 20; // no model opens with less
    constexpr std::uint64_t kGibibytesMax = 4096; // a larger number was not meant in this unit
    if (budgetBytes == 0 || budgetBytes >= kSmallestBudget)
        return {};
    const std::string example = budgetBytes <= kGibibytesMax ? std::to_string(budgetBytes) : "46";
    return "a number without a unit counts bytes; " + example + " GiB are written " + example + "G";
}

Result<std::unique_ptr<Engine>> openEngine(
    std::shared_ptr<const Container> container, const EngineFlags& flags, Output& output, const CancelFlag& cancel)
{
    EngineOptions options = flags.options;
    options.log = [&output](LogLevel level, std::string_view message) {
        if (level == LogLevel::Detail)
            output.detail(message);
        else if (level == LogLevel::Information)
            output.note(message);
        else
            output.warning(message);
    };
    const auto progress = [&output](const Progress& step) {
        if (step.total > 0)
            output.progress("opening the model: " + std::string(step.stage)
                + printfText(" %.0f %%", 100 * static_cast<double>(step.done) / static_cast<double>(step.total)));
    };
    auto opened = Engine::open(std::move(container), options, progress, &cancel);
    output.endProgress();
    if (!opened && opened.error().code == ErrorCode::RamBudget) {
        if (const std::string hint = forgottenUnitHint(options.budgetBytes); !hint.empty())
            opened.error().message += " (" + hint + ")";
    }
    WASTE_TRY(auto engine, std::move(opened));

    const MemoryPlan& plan = engine->plan();
    if (flags.options.budgetBytes == 0)
        output.note("no --budget, using " + host::formatSize(plan.budgetBytes) + " of "
            + host::formatSize(plan.machine.usableBytes) + " (expert cache " + host::formatSize(plan.expertCacheBytes)
            + ")");
    return engine;
}

} // namespace waste::cli
