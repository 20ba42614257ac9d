#pragma once

#include "chat/message_list_model.h"
#include "host/conversation.h"

#include <QDateTime>
#include <QString>

#include <string>

namespace waste::app {

// What the transcript says about a message, in words.
MessageListModel::State stateOf(const host::Message& message);
QString statisticsOf(const host::Message& message); // empty while it runs, and for what the user wrote
QString errorTitleOf(const host::Message& message); // empty: nothing went wrong
QString errorTextOf(const host::Message& message);

QDateTime timeFrom(const std::string& utc);

// "0.42 s", "6:29", "1 h 12 min"
QString durationText(qint64 ms);
// "0.52", "9.6", "214"
QString rateText(double perSecond);
QString countText(quint64 count); // with the language's separators
QString tokensText(quint64 count); // "1,204 tokens"

} // namespace waste::app
