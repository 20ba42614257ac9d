#include "cli/build_line.h"
#include "cli/command.h"

#include "waste/build_info.h"

#include <nlohmann/json.hpp>

namespace waste::cli {

namespace {

class VersionCommand final : public Command {
public:
    Arguments declare() override { return {"version", "Prints the version, and the kernels that this machine runs."}; }

    Result<int> run(CommandContext& context) override
    {
        if (!context.output.isJson()) {
            WASTE_TRY(const std::string line, buildLine());
            context.output.text(line + "\n");
            return 0;
        }
        WASTE_TRY(const BuildInfo info, describeBuild());
        context.output.json({{"version", programVersion()}, {"container_format", kContainerFormat},
            {"backend", info.backend}, {"cpu_features", info.cpuFeatures}, {"unicode", info.unicodeVersion},
            {"compiler", programCompiler()}, {"commit", programCommit()}});
        return 0;
    }
};

} // namespace

std::unique_ptr<Command> makeVersionCommand()
{
    return std::make_unique<VersionCommand>();
}

} // namespace waste::cli
