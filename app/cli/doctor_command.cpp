#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/health_findings.h"

#include "waste/files.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace waste::cli {

namespace {

using nlohmann::ordered_json;

std::string_view nameOf(Finding::Level level)
{
    static constexpr std::string_view kNames[] = {"good", "advice", "problem"};
    return kNames[static_cast<std::size_t>(level)];
}

std::string_view nameOf(DriveFacts::Kind kind)
{
    static constexpr std::string_view kNames[] = {"unknown", "nvme", "ssd", "rotating", "virtual", "network", "memory"};
    return kNames[static_cast<std::size_t>(kind)];
}

std::string_view nameOf(MachineFacts::HugePages setting)
{
    static constexpr std::string_view kNames[] = {"unknown", "always", "madvise", "never"};
    return kNames[static_cast<std::size_t>(setting)];
}

std::string_view nameOf(MachineFacts::IoUring state)
{
    static constexpr std::string_view kNames[] = {"absent", "refused", "available"};
    return kNames[static_cast<std::size_t>(state)];
}

class DoctorCommand final : public Command {
public:
    Arguments declare() override
    {
        Arguments arguments("doctor [MODEL] [OPTIONS]",
            "Looks at this machine and says in plain words what it is good for: RAM, CPU, the drive that holds MODEL\n"
            "(or this folder), and whether MODEL fits.");
        declareModel(arguments, m_flags);
        declareEngineFlags(arguments, m_flags);
        return arguments;
    }

    Result<int> run(CommandContext& context) override
    {
        const MachineFacts machine = MachineFacts::detect();
        WASTE_TRY(const BuildInfo build, describeBuild());
        const auto place = m_flags.model.empty() ? std::filesystem::path(".") : pathOfText(m_flags.model);
        WASTE_TRY(const DriveFacts drive, DriveFacts::of(place));

        std::vector<Finding> findings = findingsOf(machine, build);
        append(findings, findingsOf(drive));
        if (!m_flags.model.empty()) {
            WASTE_TRY(const auto container, openContainer(m_flags));
            WASTE_TRY(const MemoryPlan plan, memoryPlan(*container, m_flags));
            append(findings, findingsOf(*container, plan, machine));
            if (m_flags.options.lockTrunk && plan.trunkBytes > machine.lockableBytes)
                findings.push_back(trunkLockFinding(plan, machine));
        }
        if (context.output.isJson())
            context.output.json(json(machine, build, drive, findings));
        else
            context.output.text(text(findings));
        return 0;
    }

private:
    static void append(std::vector<Finding>& findings, std::vector<Finding> more)
    {
        findings.insert(findings.end(), std::move_iterator(more.begin()), std::move_iterator(more.end()));
    }

    static ordered_json json(const MachineFacts& machine, const BuildInfo& build, const DriveFacts& drive,
        const std::vector<Finding>& findings)
    {
        ordered_json object = {{"physical_ram_bytes", machine.memory.physicalBytes},
            {"usable_ram_bytes", machine.memory.usableBytes}, {"available_ram_bytes", machine.availableBytes},
            {"swap_bytes", machine.swapBytes}, {"cgroup_version", machine.controlGroupVersion},
            {"lockable_bytes", machine.lockableBytes}, {"huge_pages", nameOf(machine.hugePages)},
            {"io_uring", nameOf(machine.ioUring)}, {"cores", machine.physicalCores}, {"threads", machine.logicalCpus},
            {"backend", build.backend}, {"cpu_features", build.cpuFeatures},
            {"drive",
                {{"kind", nameOf(drive.kind)}, {"device", drive.device}, {"file_system", drive.fileSystem},
                    {"free_bytes", drive.freeBytes},
                    {"direct_io", drive.directIo ? ordered_json(*drive.directIo) : ordered_json()}}},
            {"findings", ordered_json::array()}};
        for (const Finding& finding : findings)
            object["findings"].push_back(
                {{"level", nameOf(finding.level)}, {"topic", finding.topic}, {"text", finding.text}});
        return object;
    }

    static std::string text(const std::vector<Finding>& findings)
    {
        static constexpr std::string_view kMarks[] = {"  ok       ", "  advice   ", "  PROBLEM  "};
        std::string text;
        for (const Finding& finding : findings)
            text += std::string(kMarks[static_cast<std::size_t>(finding.level)]) + finding.text + "\n";
        return text;
    }

    EngineFlags m_flags;
};

} // namespace

std::unique_ptr<Command> makeDoctorCommand()
{
    return std::make_unique<DoctorCommand>();
}

} // namespace waste::cli
