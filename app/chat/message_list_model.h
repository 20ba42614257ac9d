#pragma once

#include "chat/reply_blocks.h"

#include <QAbstractListModel>
#include <QDateTime>
#include <QtQml/qqmlregistration.h>

namespace waste::app {

// The branch of one conversation that is on screen, one row a message. GUI thread only.
class MessageListModel : public QAbstractListModel {
    Q_OBJECT
    QML_ELEMENT
    QML_UNCREATABLE("Comes from ChatController.")

public:
    enum class Author { User, Assistant, System, Notice };
    Q_ENUM(Author)
    enum class State { Queued, Reading, Answering, Stopped, Interrupted, Done, Failed };
    Q_ENUM(State)
    enum Role {
        MessageIdRole = Qt::UserRole + 1,
        AuthorRole,
        StateRole,
        PlainTextRole, // User, System, Notice: what was written, literally
        BlocksRole, // Assistant: a ReplyBlocks; null for the others
        TimeRole, // QDateTime, local
        ModelNameRole, // Assistant
        StatisticsRole, // Assistant, once it ended: "128 tokens · 9.6 tok/s · first word after 0.4 s"
        SiblingIndexRole, // counts from 1
        SiblingCountRole, // 1: no other version
        ErrorTitleRole, // Failed and Interrupted: what happened, else empty
        ErrorTextRole, // why, and what to do
        LastRole, // true for the last row
    };
};

} // namespace waste::app
