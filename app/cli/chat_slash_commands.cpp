#include "cli/chat_dialogue.h"

#include "cli/nearest_name.h"
#include "cli/printf_text.h"
#include "cli/stored_conversations.h"
#include "cli/text_input.h"
#include "host/count_text.h"
#include "host/data_url.h"
#include "host/picture_check.h"
#include "host/size_text.h"

#include "waste/files.h"
#include "waste/tokenizer.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace waste::cli {

namespace {

constexpr std::size_t kShownMessages = 4; // after /load

Error wrong(std::string message)
{
    return {ErrorCode::InvalidArgument, "", std::move(message)};
}

std::string_view trimmed(std::string_view text)
{
    const auto begin = text.find_first_not_of(" \t");
    return begin == std::string_view::npos ? "" : text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// The first word and the rest.
std::pair<std::string_view, std::string_view> split(std::string_view text)
{
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    return {text.substr(0, end), trimmed(text.substr(end))};
}

} // namespace

struct ChatDialogue::SlashCommand {
    const char* name;
    const char* argument;
    const char* help;
    Status (ChatDialogue::*run)(std::string_view argument);
};

std::span<const ChatDialogue::SlashCommand> ChatDialogue::slashCommands()
{
    static constexpr std::array commands = {
        SlashCommand{"/help", "", "this list", &ChatDialogue::showHelp},
        SlashCommand{"/reset", "", "begin a new conversation", &ChatDialogue::reset},
        SlashCommand{"/undo", "", "take the last question and its answer back", &ChatDialogue::undo},
        SlashCommand{"/retry", "", "answer the last question again", &ChatDialogue::retry},
        SlashCommand{"/edit", "TEXT", "ask TEXT in place of the last question", &ChatDialogue::edit},
        SlashCommand{"/system", "TEXT", "set the system message", &ChatDialogue::system},
        SlashCommand{"/effort", "LEVEL", "how much to think: low, high, max, none", &ChatDialogue::effort},
        SlashCommand{"/think", "on|off", "think before answering", &ChatDialogue::think},
        SlashCommand{"/image", "FILE", "show a picture with the next question; may be repeated", &ChatDialogue::image},
        SlashCommand{"/detail", "full|half", "half: later pictures take half the positions", &ChatDialogue::detail},
        SlashCommand{
            "/noimage", "", "take back pictures not sent, free the model's picture part", &ChatDialogue::removeImages},
        SlashCommand{"/file", "FILE", "put a text file in front of the next question", &ChatDialogue::insertFile},
        SlashCommand{"/save", "[TITLE]", "give the conversation a title", &ChatDialogue::save},
        SlashCommand{"/load", "NAME", "continue a kept conversation", &ChatDialogue::load},
        SlashCommand{"/sessions", "", "list the kept conversations", &ChatDialogue::listSessions},
        SlashCommand{"/stats", "", "figures of the last answer and of the engine", &ChatDialogue::showStatistics},
        SlashCommand{"/tokens", "", "how full the context is", &ChatDialogue::showTokens},
        SlashCommand{"/set", "NAME VALUE", "temp, top-p, top-k, min-p, seed, n", &ChatDialogue::set},
        SlashCommand{"/quit", "", "leave", &ChatDialogue::quit},
    };
    return commands;
}

Status ChatDialogue::runSlashCommand(std::string_view line)
{
    const auto [name, argument] = split(line);
    std::vector<std::string> names;
    for (const SlashCommand& command : slashCommands()) {
        if (command.name == name)
            return (this->*command.run)(argument);
        names.emplace_back(command.name);
    }
    return wrong("unknown command " + std::string(name) + suggestion(name, names)
        + " (/help lists them; a line that begins with // is text)");
}

Status ChatDialogue::needQuestion(std::string_view command) const
{
    if (m_kept.lastQuestion())
        return {};
    return wrong(std::string(command) + ": nothing was asked yet");
}

Status ChatDialogue::showHelp(std::string_view)
{
    for (const SlashCommand& command : slashCommands())
        m_output.plain(
            printfText("  %-20s%s\n", (std::string(command.name) + " " + command.argument).c_str(), command.help));
    m_output.plain("  \"\"\" begins and ends a message of several lines; // begins a line with a slash\n");
    return {};
}

Status ChatDialogue::reset(std::string_view)
{
    m_kept.startNew();
    m_insertedText.clear();
    forgetPictures();
    m_output.plain("(state cleared)\n");
    return {};
}

Status ChatDialogue::undo(std::string_view)
{
    WASTE_TRY_STATUS(needQuestion("/undo"));
    m_kept.undo();
    forgetPictures(); // the conversation may be another one now
    m_output.plain("(last question taken back)\n");
    return {};
}

Status ChatDialogue::retry(std::string_view)
{
    WASTE_TRY_STATUS(needQuestion("/retry"));
    return answer(m_kept.askAgain());
}

Status ChatDialogue::edit(std::string_view text)
{
    WASTE_TRY_STATUS(needQuestion("/edit"));
    if (text.empty()) {
        m_output.plain(m_kept.lastQuestion()->textOf(host::Block::Type::Text) + "\n");
        return wrong("/edit needs the new text; the last question is shown above");
    }
    return answer(m_kept.askInstead(text));
}

Status ChatDialogue::system(std::string_view text)
{
    m_kept.set("system", text);
    m_output.plain(text.empty() ? "(no system message)\n" : "(system message set; the conversation is read again)\n");
    return {};
}

Status ChatDialogue::effort(std::string_view level)
{
    WASTE_TRY_STATUS((choiceInto<std::string, std::string>(
        m_options.chat.effort, {{"low", "low"}, {"high", "high"}, {"max", "max"}, {"none", "none"}})(level)));
    m_output.plain("(effort " + m_options.chat.effort + ")\n");
    return {};
}

Status ChatDialogue::think(std::string_view state)
{
    WASTE_TRY_STATUS((choiceInto<bool, bool>(m_options.chat.thinking, {{"on", true}, {"off", false}})(state)));
    m_output.plain(m_options.chat.thinking ? "(thinking on)\n" : "(thinking off)\n");
    return {};
}

Status ChatDialogue::image(std::string_view file)
{
    if (file.empty() || file == "-")
        return wrong("/image needs the name of a file");
    // As terminals write a file that is dropped on them.
    if (file.size() > 2 && file.front() == file.back() && (file.front() == '\'' || file.front() == '"'))
        file = file.substr(1, file.size() - 2);
    return attach(pathOfText(file));
}

Status ChatDialogue::attach(const std::filesystem::path& file)
{
    const std::string name = textOfPath(file);
    if (m_pictures.size() == kPicturesMax)
        return wrong(name + ": a question holds at most " + std::to_string(kPicturesMax) + " pictures");
    WASTE_TRY(const std::string bytes, readPicture(file));
    WASTE_TRY(const Picture picture,
        host::checkPicture(m_engine.container(), bytes, name, m_options.detail, m_options.pictureCheckBytesMax));
    const std::uint64_t taken = m_session.usedTokens() + m_picturePositions;
    if (taken + picture.positionCount >= m_engine.plan().contextTokens)
        return wrong(name + " has " + std::to_string(picture.positionCount) + " positions, and " + std::to_string(taken)
            + " of the context's " + std::to_string(m_engine.plan().contextTokens)
            + " are taken; /detail half, /reset, or a larger --ctx make room");
    WASTE_TRY(host::Block block, m_kept.attach(textOfPath(file.filename()), bytes, picture, m_options.detail));
    m_pictures.push_back(std::move(block));
    m_picturePositions += picture.positionCount;
    m_output.plain("(" + name + ", " + std::to_string(picture.width) + "x" + std::to_string(picture.height) + ": "
        + priceText(picture, m_session.pace()) + "; goes with the next question)\n");
    return {};
}

// They are kept with the conversation that they were chosen for.
void ChatDialogue::forgetPictures()
{
    m_pictures.clear();
    m_picturePositions = 0;
}

Status ChatDialogue::detail(std::string_view how)
{
    WASTE_TRY_STATUS(detailInto(m_options.detail)(how));
    m_output.plain("(pictures at " + std::string(how) + " detail from now on)\n");
    return {};
}

Status ChatDialogue::removeImages(std::string_view)
{
    const std::size_t count = m_pictures.size();
    forgetPictures();
    const bool wasLoaded = m_engine.isVisionLoaded();
    WASTE_TRY_STATUS(m_engine.releaseVision());
    m_output.plain("(" + host::countText(count, "picture") + " taken back"
        + (wasLoaded ? "; the memory of the model's picture part is free again" : "") + ")\n");
    return {};
}

Status ChatDialogue::insertFile(std::string_view file)
{
    if (file.empty() || file == "-")
        return wrong("/file needs the name of a file");
    WASTE_TRY(const std::string text, readInput(std::string(file)));
    m_insertedText += (m_insertedText.empty() ? "" : "\n\n") + toWellFormedText(text);
    m_output.plain("(" + std::to_string(text.size()) + " bytes stand in front of the next question)\n");
    return {};
}

Status ChatDialogue::save(std::string_view title)
{
    if (m_kept.isEmpty())
        return wrong("/save: nothing was said yet");
    if (!title.empty())
        m_kept.set("title", title);
    if (!m_kept.stored())
        return Error{m_kept.stored().error().code, "", "not saved: " + m_kept.stored().error().message};
    m_output.plain("(saved as " + m_kept.conversation().title + ", " + m_kept.conversation().id + ")\n");
    return {};
}

Status ChatDialogue::load(std::string_view name)
{
    WASTE_TRY(auto store, openStore(m_output));
    WASTE_TRY(const std::string id, findConversation(store, name, m_output));
    WASTE_TRY_STATUS(m_kept.load(id));
    forgetPictures();
    m_output.plain(transcript(m_kept.conversation(), kShownMessages));
    m_output.plain("(loaded " + m_kept.conversation().title
        + " — continuing that conversation; the model reads it with the next question)\n");
    return {};
}

Status ChatDialogue::listSessions(std::string_view)
{
    WASTE_TRY(auto store, openStore(m_output));
    WASTE_TRY(const auto summaries, store.list());
    for (const auto& summary : summaries)
        m_output.plain(summary.id + "  " + titleOf(summary) + "\n");
    if (summaries.empty())
        m_output.plain("(no conversations yet)\n");
    return {};
}

Status ChatDialogue::showStatistics(std::string_view)
{
    if (!m_lastStatistics.empty())
        m_output.plain("last answer: " + m_lastStatistics + "\n");
    const Statistics all = m_engine.statistics();
    const std::uint64_t accesses = all.expertHits + all.expertMisses;
    m_output.plain(
        printfText("since the start: %llu tokens read, %llu written; ",
            static_cast<unsigned long long>(all.tokensPrefilled), static_cast<unsigned long long>(all.tokensDecoded))
        + printfText("experts %.0f %% hit, ",
            accesses > 0 ? 100 * static_cast<double>(all.expertHits) / static_cast<double>(accesses) : 0)
        + host::formatAmount(static_cast<double>(all.bytesRead)) + " from disk, "
        + (all.directIo ? "direct" : "through the page cache") + "\n");
    return {};
}

Status ChatDialogue::showTokens(std::string_view)
{
    m_output.plain("(" + std::to_string(m_session.usedTokens()) + " of " + std::to_string(m_engine.plan().contextTokens)
        + " tokens of the context are in use)\n");
    return {};
}

Status ChatDialogue::set(std::string_view nameAndValue)
{
    const auto [name, value] = split(nameAndValue);
    WASTE_TRY_STATUS(setSampling(m_options.sampling, name, value));
    m_output.plain("(" + std::string(name) + " " + std::string(value) + ")\n");
    return {};
}

Status ChatDialogue::quit(std::string_view)
{
    m_isOver = true;
    return {};
}

} // namespace waste::cli
