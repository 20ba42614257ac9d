#include "host/reply_recorder.h"

#include "host/journal_lines.h"

#include <chrono>
#include <map>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

namespace waste::host {

namespace {

constexpr std::chrono::seconds kTextInterval{1};

} // namespace

MessageState messageStateAfter(const ReplyEnded& ended)
{
    switch (ended.reason) {
    case ReplyEnded::Reason::Stopped:
        return MessageState::Stopped;
    case ReplyEnded::Reason::Failed:
        return MessageState::Interrupted;
    case ReplyEnded::Reason::Done:
    case ReplyEnded::Reason::Limit:
    case ReplyEnded::Reason::ContextFull:
        break;
    }
    return MessageState::Done;
}

std::string reasonOf(const ReplyEnded& ended)
{
    switch (ended.reason) {
    case ReplyEnded::Reason::Failed:
        return ended.error.message;
    case ReplyEnded::Reason::Limit:
        return "limit";
    case ReplyEnded::Reason::ContextFull:
        return "context_full";
    case ReplyEnded::Reason::Stopped:
    case ReplyEnded::Reason::Done:
        break;
    }
    return {};
}

struct ReplyRecorder::State {
    struct Answer {
        std::string conversationId;
        std::vector<Block::Type> blocks; // of the message so far
        std::vector<Json> pending; // lines that are not on disk yet
        bool flushPosted = false; // a second after the first text that is not on disk
        bool ended = false;
    };
    ConversationKeeper& keeper;
    const SaveFailed saveFailed;
    std::mutex mutex; // guards everything below
    std::map<std::string, Answer> answers; // by id
};

ReplyRecorder::ReplyRecorder(ConversationKeeper& keeper, SaveFailed saveFailed)
    : m_state(new State{keeper, std::move(saveFailed), {}, {}})
{
}

void ReplyRecorder::expect(const std::string& conversationId, const Message& message)
{
    const std::lock_guard lock(m_state->mutex);
    // One that goes on may still have lines from before on their way to the disk.
    State::Answer& answer = m_state->answers[message.id];
    answer.conversationId = conversationId;
    answer.ended = false;
    answer.blocks.clear();
    for (const Block& block : message.blocks)
        answer.blocks.push_back(block.type);
}

void ReplyRecorder::handle(const EngineEvent& event)
{
    if (const auto* started = std::get_if<AnswerStarted>(&event)) {
        write(started->answerId, stateLine(started->answerId, MessageState::Reading));
    } else if (const auto* began = std::get_if<ReplyBegan>(&event)) {
        write(began->answerId, stateLine(began->answerId, MessageState::Answering));
    } else if (const auto* text = std::get_if<ReplyText>(&event)) {
        add(text->answerId, text->channel == ReplyText::Channel::Thinking ? Block::Type::Thinking : Block::Type::Text,
            text->text);
    } else if (const auto* ended = std::get_if<ReplyEnded>(&event)) {
        end(*ended);
    }
}

// Ended and with its last line waiting at once: a flush that finds an ended answer with nothing left forgets it.
void ReplyRecorder::end(const ReplyEnded& ended)
{
    const std::lock_guard lock(m_state->mutex);
    const auto found = m_state->answers.find(ended.answerId);
    if (found == m_state->answers.end())
        return;
    State::Answer& answer = found->second;
    for (const ToolCall& call : ended.calls) {
        Block block;
        block.type = Block::Type::ToolCall;
        block.text = call.arguments;
        block.name = call.name;
        block.callId = call.id;
        answer.pending.push_back(toolCallLine(ended.answerId, answer.blocks.size(), block));
        answer.blocks.push_back(block.type);
    }
    answer.pending.push_back(stateLine(ended.answerId, messageStateAfter(ended), reasonOf(ended), ended.timings));
    answer.ended = true;
    m_state->keeper.post([state = m_state, answerId = ended.answerId] { flush(state, answerId); });
}

void ReplyRecorder::add(const std::string& answerId, Block::Type type, const std::string& text)
{
    const std::lock_guard lock(m_state->mutex);
    const auto found = m_state->answers.find(answerId);
    if (found == m_state->answers.end())
        return;
    State::Answer& answer = found->second;
    const bool sameBlock = !answer.blocks.empty() && answer.blocks.back() == type;
    if (!sameBlock)
        answer.blocks.push_back(type);
    const std::size_t blockIndex = answer.blocks.size() - 1;
    Json* last = answer.pending.empty() ? nullptr : &answer.pending.back();
    if (sameBlock && last != nullptr && last->at("kind") == "text")
        last->at("text").get_ref<std::string&>() += text;
    else
        answer.pending.push_back(textLine(answerId, blockIndex, type, text));
    if (!std::exchange(answer.flushPosted, true))
        postDelayedFlush(m_state, answerId);
}

void ReplyRecorder::write(const std::string& answerId, Json line)
{
    const std::lock_guard lock(m_state->mutex);
    const auto found = m_state->answers.find(answerId);
    if (found == m_state->answers.end())
        return;
    found->second.pending.push_back(std::move(line));
    m_state->keeper.post([state = m_state, answerId] { flush(state, answerId); });
}

void ReplyRecorder::postDelayedFlush(const std::shared_ptr<State>& state, const std::string& answerId)
{
    const auto task = [state, answerId] {
        {
            const std::lock_guard lock(state->mutex);
            if (const auto answer = state->answers.find(answerId); answer != state->answers.end())
                answer->second.flushPosted = false;
        }
        flush(state, answerId);
    };
    state->keeper.post(task, kTextInterval);
}

// On the keeper's thread.
void ReplyRecorder::flush(const std::shared_ptr<State>& state, const std::string& answerId)
{
    std::string conversationId;
    std::vector<Json> lines;
    {
        const std::lock_guard lock(state->mutex);
        const auto found = state->answers.find(answerId);
        if (found == state->answers.end())
            return;
        conversationId = found->second.conversationId;
        lines = std::exchange(found->second.pending, {});
    }
    const Status written = lines.empty() ? Status() : state->keeper.appendNow(conversationId, lines);
    {
        const std::lock_guard lock(state->mutex);
        State::Answer& answer = state->answers[answerId];
        if (written) {
            if (answer.ended && answer.pending.empty())
                state->answers.erase(answerId);
            return;
        }
        // What came meanwhile stands behind it; joined again only from the next text on.
        answer.pending.insert(
            answer.pending.begin(), std::make_move_iterator(lines.begin()), std::make_move_iterator(lines.end()));
        if (!std::exchange(answer.flushPosted, true))
            postDelayedFlush(state, answerId);
    }
    state->saveFailed(answerId, written.error());
}

} // namespace waste::host
