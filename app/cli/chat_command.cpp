#include "cli/build_line.h"
#include "cli/chat_dialogue.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "host/data_url.h"
#include "host/generation_defaults.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace waste::cli {

namespace {

constexpr std::size_t kPictureCheckBytesMax = std::size_t{64} << 20; // 11 million pixels of an ordinary JPEG

class ChatCommand final : public Command {
public:
    Arguments declare() override
    {
        Arguments arguments("chat MODEL [OPTIONS]",
            "A conversation: one message a line, \"\"\" around one of several lines, /help for commands. It is kept\n"
            "where the window keeps its own; Ctrl-C stops an answer, Ctrl-D leaves.");
        declareModel(arguments, m_flags);
        declareChatFlags(arguments, m_chat);
        arguments.value("--system", "TEXT", into(m_system), "system message in front of the conversation");
        arguments.value("--session", "NAME", into(m_session), "continue a kept conversation");
        declarePictureFlags(arguments, m_pictures, "picture with the first question; may be repeated");
        declareSamplingFlags(arguments, m_sampling, "what the context holds");
        arguments.group("Output");
        arguments.flag("--no-stats", m_noStatistics, "no line of figures after each answer");
        declareEngineFlags(arguments, m_flags);
        return arguments;
    }

    Result<int> run(CommandContext& context) override
    {
        Output& output = context.output;
        WASTE_TRY(const auto container, openContainer(m_flags));
        WASTE_TRY(const auto format, openChatFormat(*container, m_chat, output));
        const SamplingOptions recommended = recommendedSampling(*container, output);
        WASTE_TRY(const std::string line, buildLine());
        output.plain(line + "\n");
        if (m_flags.options.vision == VisionUse::Never)
            m_flags.options.vision = VisionUse::WhenNeeded;
        WASTE_TRY(const std::size_t pictureCheckBytesMax, planPictureCheck(*container));
        WASTE_TRY(const auto engine, openEngine(container, m_flags, output, context.cancel));
        WASTE_TRY(auto session, engine->createSession());
        output.plain(
            container->info().name + ", format " + std::string(format->name()) + "; /help lists the commands\n");

        host::ChatSession chat(*engine, std::move(session), format, recommended);
        ChatDialogue dialogue(*engine, chat, *format,
            {m_chat, m_sampling, recommended, true, !m_noStatistics, m_pictures.detail, pictureCheckBytesMax}, context);
        if (m_system)
            dialogue.setSystem(*m_system);
        if (m_session)
            WASTE_TRY_STATUS(dialogue.load(*m_session));
        for (const auto& file : m_pictures.files)
            WASTE_TRY_STATUS(dialogue.attach(file));
        return dialogue.run();
    }

private:
    // A look at a picture, when it is chosen, takes memory of its own: until the first question with a picture the
    // plan's room for pictures holds experts. Where the budget has none to spare, the look ends with the header.
    Result<std::size_t> planPictureCheck(const Container& container)
    {
        WASTE_TRY(const MemoryPlan plan, memoryPlan(container, m_flags));
        EngineFlags flags = m_flags;
        flags.options.programBytes = plan.programBytes + kPictureCheckBytesMax + host::kPictureBytesMax;
        WASTE_TRY(const MemoryPlan larger, memoryPlan(container, flags));
        if (!larger.check() || !larger.visionFits)
            return std::size_t{0};
        m_flags = flags;
        return kPictureCheckBytesMax;
    }

    // A file that makes no sense keeps nobody from talking to the model.
    static SamplingOptions recommendedSampling(const Container& container, Output& output)
    {
        const std::string& architecture = container.info().architecture;
        const auto recommended = host::recommendedSampling(container.path(), architecture);
        if (recommended)
            return *recommended;
        output.warning(recommended.error().message + "; answers are drawn as this kind of model usually does");
        return host::usualSampling(architecture);
    }

    EngineFlags m_flags;
    ChatFlags m_chat;
    SamplingFlags m_sampling;
    std::optional<std::string> m_system;
    std::optional<std::string> m_session;
    bool m_noStatistics = false;
    PictureFlags m_pictures;
};

} // namespace

std::unique_ptr<Command> makeChatCommand()
{
    return std::make_unique<ChatCommand>();
}

} // namespace waste::cli
