#include "chat/message_text.h"

#include <QCoreApplication>
#include <QLocale>
#include <QStringList>

namespace waste::app {

namespace {

QString tr(const char* text)
{
    return QCoreApplication::translate("MessageText", text);
}

bool hasAnswer(const host::Message& message)
{
    return !message.textOf(host::Block::Type::Text).empty();
}

bool endedInThinking(const host::Message& message)
{
    return message.role == host::Role::Assistant && message.state == host::MessageState::Done && !hasAnswer(message)
        && !message.textOf(host::Block::Type::Thinking).empty();
}

} // namespace

MessageListModel::State stateOf(const host::Message& message)
{
    using State = MessageListModel::State;
    switch (message.state) {
    case host::MessageState::Queued:
        return State::Queued;
    case host::MessageState::Reading:
        return State::Reading;
    case host::MessageState::Answering:
        return State::Answering;
    case host::MessageState::Stopped:
        return State::Stopped;
    case host::MessageState::Interrupted: // by an error that was written down, or by the end of the program
        return message.reason.empty() ? State::Interrupted : State::Failed;
    case host::MessageState::Done:
        break;
    }
    return State::Done;
}

QString statisticsOf(const host::Message& message)
{
    const host::AnswerTimings& timings = message.timings;
    if (message.role != host::Role::Assistant || timings.tokens == 0)
        return {};
    QStringList parts{tokensText(timings.tokens)};
    if (timings.answerMs > 0) {
        const double rate = 1000.0 * static_cast<double>(timings.tokens) / static_cast<double>(timings.answerMs);
        parts << tr("%1 tok/s").arg(rateText(rate));
    }
    if (timings.firstTokenMs > 0)
        parts << tr("first word after %1").arg(durationText(static_cast<qint64>(timings.firstTokenMs)));
    return parts.join(QStringLiteral(" · "));
}

QString errorTitleOf(const host::Message& message)
{
    switch (stateOf(message)) {
    case MessageListModel::State::Interrupted:
        return message.timings.tokens > 0 ? tr("Interrupted at %1").arg(tokensText(message.timings.tokens))
                                          : tr("Interrupted");
    case MessageListModel::State::Failed:
        return hasAnswer(message) ? tr("The answer could not be finished") : tr("The question could not be answered");
    case MessageListModel::State::Done:
        if (message.reason == "context_full")
            return tr("The context is full");
        return endedInThinking(message) ? tr("The model ended without an answer") : QString();
    default:
        return {};
    }
}

QString errorTextOf(const host::Message& message)
{
    switch (stateOf(message)) {
    case MessageListModel::State::Interrupted:
        return tr("The program ended while this was being written. The text is complete up to the last second.");
    case MessageListModel::State::Failed:
        return QString::fromStdString(message.reason);
    case MessageListModel::State::Done:
        if (message.reason == "context_full")
            return tr(
                "This conversation fills all that the model can keep in mind. A new chat starts with all of it free.");
        return endedInThinking(message) ? tr("It stopped while it was thinking. Try again, or switch thinking off.")
                                        : QString();
    default:
        return {};
    }
}

QDateTime timeFrom(const std::string& utc)
{
    return QDateTime::fromString(QString::fromStdString(utc), Qt::ISODate).toLocalTime();
}

QString durationText(qint64 ms)
{
    const qint64 seconds = ms / 1000;
    if (seconds < 10)
        return tr("%1 s").arg(QLocale().toString(static_cast<double>(ms) / 1000, 'f', ms < 1000 ? 2 : 1));
    if (seconds < 3600)
        return QStringLiteral("%1:%2").arg(seconds / 60).arg(seconds % 60, 2, 10, QLatin1Char('0'));
    return tr("%1 h %2 min").arg(seconds / 3600).arg(seconds / 60 % 60);
}

QString rateText(double perSecond)
{
    return QLocale().toString(perSecond, 'f', perSecond < 2 ? 2 : perSecond < 100 ? 1 : 0);
}

QString countText(quint64 count)
{
    return QLocale().toString(count);
}

QString tokensText(quint64 count)
{
    return count == 1 ? tr("1 token") : tr("%1 tokens").arg(countText(count));
}

} // namespace waste::app
