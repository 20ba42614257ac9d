// What can be done with the conversation that is shown.

#include "chat/chat_controller.h"

#include "chat/message_text.h"

#include <utility>

namespace waste::app {

const host::Message* ChatController::lastMessage() const
{
    const auto branch = m_messages.conversation().branch();
    return branch.empty() ? nullptr : branch.back().message;
}

bool ChatController::isDue() const
{
    return m_answers.isAnyIn(m_conversationId);
}

bool ChatController::mayWrite() const
{
    return m_readOnlyReason.isEmpty() && !isDue();
}

QString ChatController::sendDisabledReason() const
{
    if (!m_readOnlyReason.isEmpty())
        return m_readOnlyReason;
    if (!isModelReady() && m_engineStatus.phase != host::EngineStatus::Phase::Opening)
        return tr("No model is open");
    if (isDue())
        return tr("The answer to the last message is not finished");
    return m_draft.trimmed().isEmpty() && m_pictures.count() == 0 ? tr("There is nothing to send yet") : QString();
}

bool ChatController::canContinue() const
{
    const host::Message* last = lastMessage();
    if (last == nullptr || last->role != host::Role::Assistant || !mayWrite())
        return false;
    return last->state == host::MessageState::Stopped || last->state == host::MessageState::Interrupted
        || last->state == host::MessageState::Queued || last->reason == "limit";
}

bool ChatController::canRetry() const
{
    return lastMessage() != nullptr && mayWrite();
}

void ChatController::updateActions()
{
    StatusModel::Screen screen;
    const std::string running = m_answers.conversationOf(m_engineStatus.answerId);
    screen.hasEngine = running == m_conversationId;
    screen.isQueued = isDue();
    screen.runningTitle = m_answers.backgroundTitle(running);
    if (const host::Message* last = lastMessage(); last != nullptr && last->role == host::Role::Assistant) {
        screen.lastState = stateOf(*last);
        screen.lastTokens = last->timings.tokens;
    }
    screen.usedTokens = usedTokens();
    screen.canContinue = canContinue();
    screen.canRetry = canRetry();
    m_services.status.setScreen(screen);

    const Actions actions{sendDisabledReason(), isDue(), screen.canContinue, screen.canRetry};
    if (std::exchange(m_actions, actions) != actions)
        Q_EMIT actionsChanged();
    const std::pair context(screen.usedTokens, contextTokens());
    if (std::exchange(m_context, context) != context)
        Q_EMIT contextChanged();
}

} // namespace waste::app
