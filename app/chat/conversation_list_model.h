#pragma once

#include <QAbstractListModel>
#include <QtQml/qqmlregistration.h>

namespace waste::app {

// All conversations, newest first, in groups by day; `search` narrows them by title. GUI thread only.
class ConversationListModel : public QAbstractListModel {
    Q_OBJECT
    QML_ELEMENT
    QML_UNCREATABLE("Comes from App.")
    Q_PROPERTY(QString search READ search WRITE setSearch NOTIFY searchChanged FINAL)
    // Sentences about folders that could not be read and were put aside.
    Q_PROPERTY(QStringList quarantineNotes READ quarantineNotes NOTIFY quarantineNotesChanged FINAL)

public:
    enum class State { Idle, Queued, Answering, Interrupted, Unread };
    Q_ENUM(State)
    enum Role {
        ConversationIdRole = Qt::UserRole + 1,
        TitleRole,
        GroupRole, // "Today", "Yesterday", "Earlier": the list's section
        StateRole,
        StateTextRole, // "Answering · 214 tokens", "13:05 · K3-mini"
        CurrentRole, // the one on screen
    };
};

} // namespace waste::app
