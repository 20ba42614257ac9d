#pragma once

#include "host/conversation_keeper.h"

#include <QAbstractListModel>
#include <QDateTime>
#include <QHash>
#include <QList>
#include <QStringList>
#include <QtQml/qqmlregistration.h>

namespace waste::app {

// All conversations that have begun, newest first, in groups by day; `search` narrows them by title. GUI
// thread only.
class ConversationListModel : public QAbstractListModel {
    Q_OBJECT
    QML_ELEMENT
    QML_UNCREATABLE("Comes from App.")
    Q_PROPERTY(QString search READ search WRITE setSearch NOTIFY searchChanged FINAL)
    Q_PROPERTY(int count READ rowCount NOTIFY countChanged FINAL) // rows, as searched
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

    explicit ConversationListModel(QObject* parent = nullptr);

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QHash<int, QByteArray> roleNames() const override;

    [[nodiscard]] QString search() const { return m_search; }
    void setSearch(const QString& search);
    [[nodiscard]] QStringList quarantineNotes() const { return m_quarantineNotes; }

    void setList(const host::ConversationKeeper::List& list);
    void put(const host::ConversationSummary& summary); // new or changed
    void setTitle(const QString& id, const QString& title);
    void remove(const QString& id);
    void setCurrent(const QString& id); // and read
    // What its answer is doing; Idle when it ended. An end that nobody saw makes it Unread.
    void setActivity(const QString& id, State state, quint64 tokens);

Q_SIGNALS:
    void searchChanged();
    void countChanged();
    void quarantineNotesChanged();

private:
    struct Entry {
        QString id;
        QString title;
        QString modelName;
        QDateTime updated;
        State state = State::Idle;
        quint64 tokens = 0;
        bool operator==(const Entry&) const = default;
    };
    static Entry entryFrom(const host::ConversationSummary& summary);
    [[nodiscard]] QString stateText(const Entry& entry) const;
    [[nodiscard]] int rowOf(const QString& id, int from) const; // −1: not among the rows
    void refresh(); // brings the rows to what m_all and the search say

    QHash<QString, Entry> m_all; // by id
    QList<Entry> m_rows;
    QString m_search;
    QString m_current;
    QStringList m_quarantineNotes;
};

} // namespace waste::app
