#include "cli/command.h"
#include "cli/conversion_reporter.h"
#include "cli/source_hint.h"

#include "waste/converter.h"
#include "waste/files.h"

namespace waste::cli {

namespace {

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
        arguments
            .value("--bank-dir", "DIR", into(m_options.bankFolders),
                "a folder on another drive that takes its share of the experts; may be repeated")
            .repeatable();
        arguments.value("--jobs", "N", wholeNumberInto(m_options.threadCount, 0, 4096), "compute threads")
            .byDefault("one per core");
        arguments
            .value("--expert-format", "FORMAT",
                choiceInto<ExpertFormat, ExpertFormat>(m_options.expertFormat,
                    {{"vq4p", ExpertFormat::Vq4p}, {"vq3r", ExpertFormat::Vq3r}, {"vq2r", ExpertFormat::Vq2r}}),
                "vq4p, vq3r (3 bits a weight) or vq2r (2 bits, loses much)")
            .byDefault("vq4p");
        arguments
            .value("--quality", "LEVEL",
                choiceInto<ConvertQuality, ConvertQuality>(m_options.quality,
                    {{"fast", ConvertQuality::Fast}, {"default", ConvertQuality::Default},
                        {"best", ConvertQuality::Best}}),
                "fast, default or best: more work, less lost, same size")
            .byDefault("default");
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
                "on deletes used-up shards for good; dry converts and says which")
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
        // A download that is followed may have begun a moment ago, without a file to judge it by.
        if (const std::string hint = m_options.follow ? "" : hintOnSource(m_options.source); !hint.empty())
            return Error{ErrorCode::NotFound, "", textOfPath(m_options.source) + ": " + hint};
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
        if (converted)
            return 0;
        if (converted.error().code == ErrorCode::Cancelled)
            converted.error().message = "stopped; what is finished is kept, and the same command goes on from there";
        return converted.error();
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
