#include "chat/running_answers.h"

#include "host/reply_recorder.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace waste::app {

namespace {

host::Block toolCallBlock(const ToolCall& call)
{
    host::Block block;
    block.type = host::Block::Type::ToolCall;
    block.text = call.arguments;
    block.name = call.name;
    block.callId = call.id;
    return block;
}

host::Block::Type blockTypeOf(host::ReplyText::Channel channel)
{
    return channel == host::ReplyText::Channel::Thinking ? host::Block::Type::Thinking : host::Block::Type::Text;
}

} // namespace

RunningAnswers::RunningAnswers(MessageListModel& onScreen, host::ConversationKeeper& keeper, host::EngineHost& engine,
    ConversationListModel& list, QObject* parent)
    : QObject(parent)
    , m_onScreen(onScreen)
    , m_keeper(keeper)
    , m_engine(engine)
    , m_list(list)
{
}

void RunningAnswers::add(const std::string& answerId, const Answer& answer)
{
    m_answers[answerId] = answer;
    m_list.setActivity(QString::fromStdString(answer.conversationId), ConversationListModel::State::Queued, 0);
}

void RunningAnswers::submitted(const std::string& answerId)
{
    if (const auto answer = m_answers.find(answerId); answer != m_answers.end() && answer->second.isStopped)
        m_engine.stop(answerId);
}

std::optional<RunningAnswers::Answer> RunningAnswers::drop(const std::string& answerId)
{
    auto node = m_answers.extract(answerId);
    if (node.empty())
        return std::nullopt;
    const QString conversationId = QString::fromStdString(node.mapped().conversationId);
    m_list.setActivity(conversationId, ConversationListModel::State::Idle, 0);
    return std::move(node.mapped());
}

void RunningAnswers::stopIn(const std::string& conversationId)
{
    for (auto& [answerId, answer] : m_answers) {
        if (answer.conversationId != conversationId)
            continue;
        answer.isStopped = true;
        m_engine.stop(answerId);
    }
}

bool RunningAnswers::isAnyIn(const std::string& conversationId) const
{
    return std::any_of(m_answers.begin(), m_answers.end(),
        [&conversationId](const auto& answer) { return answer.second.conversationId == conversationId; });
}

std::string RunningAnswers::conversationOf(const std::string& answerId) const
{
    const auto answer = m_answers.find(answerId);
    return answer != m_answers.end() ? answer->second.conversationId : std::string();
}

QString RunningAnswers::backgroundTitle(const std::string& conversationId) const
{
    const auto conversation = m_background.find(conversationId);
    return conversation != m_background.end() ? QString::fromStdString(conversation->second.title) : QString();
}

void RunningAnswers::putInBackground(const std::string& conversationId, host::Conversation conversation)
{
    m_background[conversationId] = std::move(conversation);
}

std::optional<host::Conversation> RunningAnswers::takeFromBackground(const std::string& conversationId)
{
    auto node = m_background.extract(conversationId);
    return node.empty() ? std::nullopt : std::optional(std::move(node.mapped()));
}

void RunningAnswers::handle(const host::EngineEvent& event)
{
    if (const auto* status = std::get_if<host::EngineStatus>(&event))
        handleStatus(*status);
    else if (const auto* started = std::get_if<host::AnswerStarted>(&event))
        setState(started->answerId, host::MessageState::Reading);
    else if (const auto* began = std::get_if<host::ReplyBegan>(&event))
        setState(began->answerId, host::MessageState::Answering);
    else if (const auto* text = std::get_if<host::ReplyText>(&event))
        append(*text);
    else if (const auto* reply = std::get_if<host::ReplyEnded>(&event))
        end(*reply);
}

void RunningAnswers::handleStatus(const host::EngineStatus& status)
{
    const auto answer = m_answers.find(status.answerId);
    if (answer == m_answers.end() || !answer->second.isStarted)
        return;
    m_list.setActivity(QString::fromStdString(answer->second.conversationId), ConversationListModel::State::Answering,
        status.tokenCount);
    m_onScreen.setThinkingFigures(
        status.answerId, status.thinkingTokenCount, static_cast<std::uint64_t>(status.thinking.count()));
}

void RunningAnswers::setState(const std::string& answerId, host::MessageState state)
{
    const auto answer = m_answers.find(answerId);
    if (answer == m_answers.end())
        return;
    answer->second.isStarted = true;
    if (host::Message* message = inBackground(answerId))
        message->state = state;
    else
        m_onScreen.setState(answerId, state);
}

void RunningAnswers::append(const host::ReplyText& text)
{
    if (host::Message* message = inBackground(text.answerId))
        message->append(blockTypeOf(text.channel), text.text);
    else
        m_onScreen.append(text.answerId, blockTypeOf(text.channel), text.text);
}

void RunningAnswers::end(const host::ReplyEnded& reply)
{
    const std::string conversationId = conversationOf(reply.answerId);
    if (conversationId.empty())
        return;
    const host::MessageState state = host::messageStateAfter(reply);
    if (inBackground(reply.answerId) != nullptr) {
        // Its end is in the keeper's queue already: from now on the disk has it all.
        m_background.erase(conversationId);
        m_keeper.release(conversationId);
    } else {
        for (const ToolCall& call : reply.calls)
            m_onScreen.appendToolCall(reply.answerId, toolCallBlock(call));
        m_onScreen.setTimings(reply.answerId, reply.timings);
        m_onScreen.setState(reply.answerId, state, host::reasonOf(reply));
    }
    m_answers.erase(reply.answerId);
    const bool interrupted = state == host::MessageState::Interrupted;
    m_list.setActivity(QString::fromStdString(conversationId),
        interrupted ? ConversationListModel::State::Interrupted : ConversationListModel::State::Idle,
        reply.timings.tokens);
    Q_EMIT ended(QString::fromStdString(reply.answerId));
}

host::Message* RunningAnswers::inBackground(const std::string& answerId)
{
    const auto conversation = m_background.find(conversationOf(answerId));
    return conversation != m_background.end() ? conversation->second.find(answerId) : nullptr;
}

} // namespace waste::app
