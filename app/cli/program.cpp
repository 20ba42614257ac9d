#include "cli/program.h"

#include "cli/nearest_name.h"
#include "host/error_table.h"
#include "host/paths.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <new>
#include <vector>

namespace waste::cli {

namespace {

constexpr int kUsageExitCode = 2;

// The options that every command has.
struct CommonOptions {
    bool json = false;
    bool quiet = false;
    bool verbose = false;
    bool help = false;
    std::filesystem::path configuration;
};

Arguments declareAll(Command& command, CommonOptions& common)
{
    Arguments arguments = command.declare();
    arguments.group("Always");
    arguments.flag("--json", common.json, "print JSON, errors too");
    arguments.flag("--quiet", common.quiet, "print errors and results only").alias("-q");
    arguments.flag("--verbose", common.verbose, "print more about what happens").alias("-v");
    arguments.value("--config", "FILE", into(common.configuration), "defaults for options, one JSON object")
        .environment("WASTE_CONFIG");
    arguments.flag("--help", common.help, "print this").alias("-h");
    return arguments;
}

std::vector<std::string> commandNames()
{
    std::vector<std::string> names;
    for (const CommandEntry& entry : commandTable())
        names.emplace_back(entry.name);
    return names;
}

std::vector<std::string> allOptionNames()
{
    std::vector<std::string> all;
    for (const CommandEntry& entry : commandTable()) {
        CommonOptions common;
        const auto command = entry.make();
        const auto names = declareAll(*command, common).optionNames();
        all.insert(all.end(), names.begin(), names.end());
    }
    return all;
}

Error unknownCommand(std::string_view name)
{
    return {ErrorCode::InvalidArgument, "",
        "unknown command " + std::string(name) + suggestion(name, commandNames()) + " (`waste help` lists them all)"};
}

// Before the arguments are understood: an error in them is JSON too if they ask for it.
bool asksForJson(std::span<const std::string> arguments)
{
    const auto end = std::find(arguments.begin(), arguments.end(), "--");
    return std::find(arguments.begin(), end, "--json") != end;
}

Status fillOptions(
    Arguments& arguments, std::span<const std::string> given, CommonOptions& common, CommandContext& context)
{
    WASTE_TRY_STATUS(arguments.parseCommandLine(given));
    if (common.help)
        return {}; // even where the environment holds nonsense
    WASTE_TRY_STATUS(arguments.applyEnvironment());

    std::filesystem::path file = common.configuration;
    if (file.empty()) {
        file = host::configurationFolder() / "config.json";
        std::error_code ignored;
        if (!std::filesystem::exists(file, ignored))
            return {};
    }
    std::vector<std::string> warnings;
    WASTE_TRY_STATUS(arguments.applyConfiguration(file, allOptionNames(), warnings));
    if (!common.quiet) {
        for (const std::string& warning : warnings)
            context.output.warning(warning);
    }
    return {};
}

Result<int> runCommand(const CommandEntry& entry, std::span<const std::string> given, CommandContext& context)
{
    CommonOptions common;
    const auto command = entry.make();
    Arguments arguments = declareAll(*command, common);
    WASTE_TRY_STATUS(fillOptions(arguments, given, common, context));
    context.output.setJson(common.json);
    context.output.setVolume(common.quiet ? Volume::Quiet : common.verbose ? Volume::Detailed : Volume::Normal);
    if (common.help) {
        context.output.printHelp(arguments.help());
        return 0;
    }
    return command->run(context);
}

Result<int> dispatch(std::span<const std::string> arguments, CommandContext& context)
{
    if (arguments.empty()) {
        context.output.text(overview());
        return kUsageExitCode;
    }
    std::string name = arguments.front();
    if (name == "-h" || name == "--help")
        name = "help";
    else if (name == "--version")
        name = "version";
    const CommandEntry* entry = findCommand(name);
    if (!entry)
        return unknownCommand(name);
    return runCommand(*entry, arguments.subspan(1), context);
}

} // namespace

std::string overview()
{
    std::string text = "usage: waste COMMAND [ARGUMENTS] [OPTIONS]\n\n"
                       "Runs frontier mixture-of-experts models from an NVMe drive.\n\n";
    constexpr std::size_t kColumn = 16;
    for (const CommandEntry& entry : commandTable()) {
        std::string line = "  " + std::string(entry.name);
        line.resize(kColumn, ' ');
        text += line + std::string(entry.summary) + "\n";
    }
    return text
        + "\nMODEL is the folder of a converted model (NAME.waste) or of a published checkpoint.\n"
          "`waste help COMMAND` explains one of them.\n";
}

std::vector<DescribedCommand> describeCommands()
{
    std::vector<DescribedCommand> described;
    for (const CommandEntry& entry : commandTable()) {
        CommonOptions common;
        const auto command = entry.make();
        described.push_back(
            {std::string(entry.name), std::string(entry.summary), declareAll(*command, common).listedOptions()});
    }
    return described;
}

Result<std::string> commandHelp(std::string_view name)
{
    const CommandEntry* entry = findCommand(name);
    if (!entry)
        return unknownCommand(name);
    CommonOptions common;
    const auto command = entry->make();
    return declareAll(*command, common).help();
}

int runProgram(std::span<const std::string> arguments, CommandContext& context)
{
    Output& output = context.output;
    output.setJson(asksForJson(arguments));
    Result<int> outcome = Error{};
    try {
        outcome = dispatch(arguments, context);
    } catch (const std::bad_alloc&) {
        outcome = Error{ErrorCode::OutOfMemory, "", "out of memory"};
    } catch (const std::exception& exception) { // of a library: a message in place of an abort
        outcome = Error{ErrorCode::Internal, "", std::string("unexpected: ") + exception.what()};
    }
    output.endProgress();
    output.endAside();
    if (output.readerIsGone())
        return 0; // whoever read has seen enough
    if (output.failure())
        outcome = *output.failure();
    if (outcome)
        return *outcome;
    output.error(outcome.error());
    return host::errorKind(outcome.error().code).exitCode;
}

} // namespace waste::cli
