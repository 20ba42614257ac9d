#pragma once

#include "cli/chat_flags.h"
#include "cli/command.h"
#include "cli/kept_conversation.h"
#include "cli/line_reader.h"
#include "cli/picture_files.h"
#include "cli/reply_printer.h"
#include "cli/sampling_flags.h"
#include "host/chat_session.h"

#include "waste/engine.h"
#include "waste/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace waste::cli {

// The dialogue of `waste chat` (spec: cli B.5): lines come in, replies and answers to commands go out. What the
// model has read already is host::ChatSession's business; here a conversation is a list of messages, and taking
// back, changing and repeating are changes of that list.
class ChatDialogue {
public:
    struct Options {
        ChatFlags chat;
        SamplingFlags sampling;
        SamplingOptions recommended;
        bool showThinking = true;
        bool statistics = true; // a line after every answer
        PictureDetail detail = PictureDetail::Full;
        std::size_t pictureCheckBytesMax =
            0; // what looking at a picture before it is sent may take, see checkPicture()
    };
    ChatDialogue(
        Engine& engine, host::ChatSession& session, const ChatFormat& format, Options options, CommandContext& context);

    void setSystem(std::string_view text);
    Status load(std::string_view name); // of a kept conversation; shows its last messages
    // For the next question. Errors: those of reading and of Picture::inspect(); InvalidArgument where it does not fit.
    Status attach(const std::filesystem::path& file);
    // Until the input ends. Away from a terminal a line that cannot be done is told with its number, the others are
    // done all the same, and the outcome is the last such error.
    Result<int> run();

private:
    // One turn's text, or a command with the slash; nothing at the end of the input.
    Result<std::optional<std::string>> readTurn();
    Result<std::optional<std::string>> readLine();
    Result<std::string> readQuoted(std::string first);
    Status handle(const std::string& turn);
    Status noteFailure(Error error); // the dialogue goes on, unless this is an error, too
    Result<int> outcome() const;

    // Commands. Their arguments are trimmed; an error is told and the dialogue goes on.
    struct SlashCommand;
    static std::span<const SlashCommand> slashCommands();
    Status runSlashCommand(std::string_view line);
    Status showHelp(std::string_view);
    Status reset(std::string_view);
    Status undo(std::string_view);
    Status retry(std::string_view);
    Status edit(std::string_view text);
    Status system(std::string_view text);
    Status effort(std::string_view level);
    Status think(std::string_view state);
    Status image(std::string_view file);
    Status detail(std::string_view how);
    Status removeImages(std::string_view);
    Status insertFile(std::string_view file);
    Status save(std::string_view title);
    Status listSessions(std::string_view);
    Status showStatistics(std::string_view);
    Status showTokens(std::string_view);
    Status set(std::string_view nameAndValue);
    Status quit(std::string_view);

    void forgetPictures();
    Status answer(const std::string& answerId);
    [[nodiscard]] host::AnswerRequest requestFor(const std::string& answerId) const;
    [[nodiscard]] bool isThinking(const host::AnswerRequest& request) const;
    [[nodiscard]] std::string effortOf(const host::AnswerRequest& request) const; // empty: no note
    ReplySummary summaryOf(const host::ReplyEnded& ended, const host::AnswerRequest& request) const;
    [[nodiscard]] Status needQuestion(std::string_view command) const;

    Engine& m_engine;
    host::ChatSession& m_session;
    const ChatFormat& m_format;
    Options m_options;
    Output& m_output;
    CancelFlag& m_cancel;
    const bool m_isInteractive;
    LineReader m_lines;
    KeptConversation m_kept;
    std::string m_insertedText; // by /file, in front of the next question
    std::vector<host::Block> m_pictures; // by /image, the same
    std::uint64_t m_picturePositions = 0;
    std::string m_lastStatistics;
    bool m_isOver = false;
    // Away from a terminal, where nobody sees what failed and decides:
    std::uint64_t m_linesRead = 0;
    std::uint64_t m_turnLine = 0; // where the turn in hand begins, counted from 1
    std::uint64_t m_failedTurns = 0;
    Error m_lastFailure; // of the last of them
    bool m_failureIsLastWord = false; // nothing was answered since
};

} // namespace waste::cli
