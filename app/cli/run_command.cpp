#include "cli/chat_flags.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/kept_conversation.h"
#include "cli/picture_files.h"
#include "cli/reply_printer.h"
#include "cli/reply_run.h"
#include "cli/request_text.h"
#include "cli/sampling_flags.h"
#include "cli/stored_conversations.h"
#include "cli/text_input.h"
#include "host/chat_request.h"

#include "waste/chat_format.h"
#include "waste/engine.h"
#include "waste/files.h"
#include "waste/session.h"
#include "waste/tokenizer.h"

#include <cassert>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace waste::cli {

namespace {

constexpr std::uint32_t kDefaultTokens = 128;

// What the model is going to read, and how it was made.
struct RenderedPrompt {
    Prompt prompt; // thinking, effort, channel, tools
    std::vector<TokenId> ids;
    std::string echo; // raw text that is printed in front of its continuation
    std::string question; // to be kept
};

class RunCommand final : public Command {
public:
    Arguments declare() override
    {
        Arguments arguments("run MODEL [PROMPT] [OPTIONS]",
            "Generates once. The prompt is the argument, --file, or standard input (\"-\", or what is piped in).");
        declareModel(arguments, m_flags);
        arguments.positional(m_source.argument);
        arguments.group("Prompt");
        arguments.value("--file", "FILE", into(m_source.file), "read the prompt from a file");
        arguments.value(
            "--messages", "FILE", into(m_messages), "a whole conversation: a chat request, or its messages");
        arguments.value("--system", "TEXT", into(m_system), "system message in front of the prompt");
        declarePictureFlags(arguments, m_pictures, "picture in front of the prompt; may be repeated");
        arguments.value("--tools", "FILE", into(m_files.tools), "JSON array of tools that the model may call");
        arguments.value("--schema", "FILE", into(m_files.schema), "JSON schema that the answer should follow");
        arguments.value("--session", "NAME", into(m_session), "continue a kept conversation");
        arguments.value("--save-session", "TITLE", into(m_saveSession), "keep the conversation under this title");
        declareChatFlags(arguments, m_chat);
        arguments.flag("--markup", m_markup, "with --raw: recognise special tokens in the text");
        declareSamplingFlags(arguments, m_sampling, std::to_string(kDefaultTokens));
        arguments.group("Output");
        arguments.flag("--show-thinking", m_showThinking, "thinking on standard error").byDefault("on a terminal");
        arguments.flag("--no-stats", m_noStatistics, "no line of figures at the end");
        declareEngineFlags(arguments, m_flags);
        return arguments;
    }

    Result<int> run(CommandContext& context) override
    {
        WASTE_TRY(const auto container, openContainer(m_flags));
        WASTE_TRY(const auto format, openChatFormat(*container, m_chat, context.output));
        WASTE_TRY_STATUS(openKept(container->info().name, context.output));
        PictureFiles pictures(container, m_pictures.detail);
        WASTE_TRY(const RenderedPrompt rendered, render(*format, pictures, context.output));
        if (rendered.ids.size() >= m_flags.options.contextTokens)
            return Error{ErrorCode::InvalidArgument, "context_length_exceeded",
                "the prompt has " + std::to_string(rendered.ids.size()) + " tokens, the context "
                    + std::to_string(m_flags.options.contextTokens) + "; raise --ctx"};

        WASTE_TRY_STATUS(planPictures(*container, pictures, m_flags));
        WASTE_TRY(const auto engine, openEngine(container, m_flags, context.output, context.cancel));
        WASTE_TRY(const auto session, engine->createSession());
        const std::filesystem::path attachments = m_kept ? m_kept->attachmentsFolder() : std::filesystem::path();
        WASTE_TRY(const auto rows, pictures.encode(*engine, context.output, context.cancel, attachments));
        std::vector<host::Block> shown;
        WASTE_TRY(shown, keep(pictures));
        if (m_kept)
            pictures.keepRows(*engine, rows, attachments);
        return generate(*engine, *session, *format, rendered, {rows, std::move(shown)}, context);
    }

private:
    // The conversation to continue, or a new one to keep.
    Status openKept(const std::string& modelName, Output& output)
    {
        if (!m_session && !m_saveSession)
            return {};
        if (m_messages || m_markup)
            return Error{ErrorCode::InvalidArgument, "",
                "--session and --save-session go with a prompt: no --messages or --markup"};
        m_kept = std::make_unique<KeptConversation>(KeptConversation::Writer::Run, modelName, output);
        if (m_session) {
            WASTE_TRY(auto store, openStore(output));
            WASTE_TRY(const std::string id, findConversation(store, *m_session, output));
            WASTE_TRY_STATUS(m_kept->load(id));
        }
        if (m_system)
            m_kept->set("system", *m_system);
        if (m_saveSession)
            m_kept->set("title", toWellFormedText(*m_saveSession));
        return {};
    }

    Result<RenderedPrompt> render(const ChatFormat& format, PictureFiles& pictures, Output& output)
    {
        const bool isRaw = format.kind() == ChatFormat::Kind::Raw;
        if (m_markup && !isRaw)
            return Error{ErrorCode::InvalidArgument, "", "--markup needs --raw: elsewhere the chat format decides"};
        if (isRaw && m_system) {
            output.warning("--system has no effect without a chat format");
            m_system.reset();
        }
        WASTE_TRY(const auto members, readRequestFiles(m_files));
        if (m_files.schema)
            output.warning("the schema is shown to the model; its answer is not forced to follow it");

        RenderedPrompt rendered;
        RenderOptions options = m_chat.renderOptions();
        std::string request;
        if (m_messages) {
            options.image = pictures.resolver();
            if (m_source.argument || m_source.file || m_system || !m_pictures.files.empty())
                return Error{ErrorCode::InvalidArgument, "",
                    "--messages holds the whole conversation: no prompt, --system or --image beside it"};
            WASTE_TRY(const std::string messages, readInput(*m_messages));
            request = requestWith(messages, members);
        } else {
            WASTE_TRY(const std::string text, readText(m_source, "the prompt", output));
            if (text.empty())
                return Error{ErrorCode::InvalidArgument, "", "the prompt is empty"};
            if (isRaw)
                rendered.echo = text;
            if (m_markup && !m_pictures.files.empty())
                return Error{ErrorCode::InvalidArgument, "", "--markup and --image exclude each other"};
            if (m_markup) {
                WASTE_TRY_STATUS(format.tokenizer().encodeMarkup(text, rendered.ids));
                return rendered;
            }
            rendered.question = text;
            const host::ChatTurns turns = turnsWith(text);
            request = requestWith(requestFor(turns.messages), members);
            options.image = pictures.resolver(turns.pictures);
        }
        WASTE_TRY(rendered.prompt, format.render(request, options));
        const auto counts = pictures.positionCounts();
        WASTE_TRY(rendered.ids, encodeSegments(format.tokenizer(), rendered.prompt.segments, counts));
        return rendered;
    }

    [[nodiscard]] host::ChatTurns turnsWith(const std::string& question) const
    {
        host::ChatTurns turns;
        if (m_kept)
            turns = m_kept->turns();
        else if (m_system)
            turns.messages.push_back(systemMessage(*m_system));
        std::vector<host::AttachedPicture> shown;
        shown.reserve(m_pictures.files.size());
        for (const auto& file : m_pictures.files)
            shown.push_back({textOfPath(file), file, m_pictures.detail});
        host::addQuestion(turns, question, shown);
        return turns;
    }

    // The pictures of the question, which are the last ones of the prompt, with the conversation.
    Result<std::vector<host::Block>> keep(const PictureFiles& pictures)
    {
        std::vector<host::Block> blocks;
        assert(pictures.entries().size() >= m_pictures.files.size()); // rendering has read them all, or failed
        for (std::size_t i = 0; m_kept && i < m_pictures.files.size(); ++i) {
            const std::size_t place = pictures.entries().size() - m_pictures.files.size() + i;
            const PictureFiles::Entry& entry = pictures.entries()[place];
            WASTE_TRY(const std::string bytes, PictureFiles::read(entry));
            WASTE_TRY(host::Block block,
                m_kept->attach(textOfPath(m_pictures.files[i].filename()), bytes, entry.picture, entry.detail));
            blocks.push_back(std::move(block));
        }
        return blocks;
    }

    struct ShownPictures {
        std::span<const float> rows; // of the whole prompt
        std::vector<host::Block> blocks; // of the question, to be kept
    };
    Result<int> generate(Engine& engine, Session& session, const ChatFormat& format, const RenderedPrompt& rendered,
        const ShownPictures& pictures, CommandContext& context)
    {
        Output& output = context.output;
        ReplyRequest request;
        request.ids = rendered.ids;
        request.pictureRows = pictures.rows;
        request.reading = {rendered.prompt.startChannel, m_sampling.stopStrings, rendered.prompt.declaredTools};
        request.sampling = m_sampling.over(SamplingOptions{}); // greedy unless asked: a run can be repeated
        request.tokensMax = m_sampling.tokensMax.value_or(kDefaultTokens);
        request.thinking = rendered.prompt.thinking;
        request.effort = rendered.prompt.effort;
        request.cancel = &context.cancel;

        ReplyPrinter printer(
            output, {.showThinking = m_showThinking || output.errorsAreOnTerminal(), .statistics = !m_noStatistics});
        printer.start({.model = engine.container().info().name,
            .contextTokens = session.contextTokens(),
            .promptTokens = rendered.ids.size(),
            .seed = request.sampling.seed,
            .thinking = request.thinking,
            .effort = request.effort});
        if (!output.isJson())
            output.text(rendered.echo);
        const std::string answerId = m_kept ? m_kept->ask(rendered.question, pictures.blocks) : std::string();
        ReplyOutcome outcome = runReply(engine, session, format, request, printer);
        if (m_kept) {
            m_kept->recordReply(answerId, outcome.summary, outcome.error);
            outcome.summary.report.session = m_kept->conversation().title;
        }
        printer.end(outcome.summary);
        if (outcome.error)
            return *outcome.error;
        if (outcome.reason == FinishReason::ContextFull)
            output.note("context of " + std::to_string(session.contextTokens()) + " tokens is full at position "
                + std::to_string(session.position()) + "; raise --ctx for more");
        if (m_kept)
            WASTE_TRY_STATUS(m_kept->stored()); // asked for by --session or --save-session
        return 0;
    }

    EngineFlags m_flags;
    ChatFlags m_chat;
    SamplingFlags m_sampling;
    TextSource m_source;
    std::optional<std::string> m_messages;
    std::optional<std::string> m_system;
    PictureFlags m_pictures;
    RequestFiles m_files;
    std::optional<std::string> m_session;
    std::optional<std::string> m_saveSession;
    std::unique_ptr<KeptConversation> m_kept; // null: nothing is kept
    bool m_markup = false;
    bool m_showThinking = false;
    bool m_noStatistics = false;
};

} // namespace

std::unique_ptr<Command> makeRunCommand()
{
    return std::make_unique<RunCommand>();
}

} // namespace waste::cli
