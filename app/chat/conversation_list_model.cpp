#include "chat/conversation_list_model.h"

#include "chat/message_text.h"
#include "waste/files.h"

#include <QLocale>
#include <QSet>

#include <algorithm>
#include <utility>

namespace waste::app {

namespace {

QString fromPath(const std::filesystem::path& path)
{
    return QString::fromStdString(textOfPath(path));
}

} // namespace

ConversationListModel::ConversationListModel(QObject* parent)
    : QAbstractListModel(parent)
{
}

int ConversationListModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

QVariant ConversationListModel::data(const QModelIndex& index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid))
        return {};
    const Entry& entry = m_rows.at(index.row());
    switch (role) {
    case ConversationIdRole:
        return entry.id;
    case TitleRole:
        return entry.title;
    case GroupRole: {
        const qint64 days = entry.updated.date().daysTo(QDate::currentDate());
        return days <= 0 ? tr("Today") : days == 1 ? tr("Yesterday") : tr("Earlier");
    }
    case StateRole:
        return QVariant::fromValue(entry.state);
    case StateTextRole:
        return stateText(entry);
    case CurrentRole:
        return entry.id == m_current;
    default:
        return {};
    }
}

QHash<int, QByteArray> ConversationListModel::roleNames() const
{
    return {{ConversationIdRole, "conversationId"}, {TitleRole, "title"}, {GroupRole, "group"},
        {StateRole, "conversationState"}, {StateTextRole, "stateText"}, {CurrentRole, "current"}};
}

void ConversationListModel::setSearch(const QString& search)
{
    if (m_search == search)
        return;
    m_search = search;
    Q_EMIT searchChanged();
    refresh();
}

void ConversationListModel::setList(const host::ConversationKeeper::List& list)
{
    for (const host::ConversationSummary& summary : list.conversations) {
        if (summary.messageCount > 0)
            m_all.insert(QString::fromStdString(summary.id), entryFrom(summary));
    }
    QStringList notes;
    for (const host::PutAside& aside : list.putAside) {
        const QString note = aside.moved ? tr("A conversation could not be read and was moved to %1: %2.")
                                         : tr("A conversation could not be read, in %1: %2.");
        notes << note.arg(fromPath(aside.folder), QString::fromStdString(aside.why));
    }
    if (notes != m_quarantineNotes) {
        m_quarantineNotes = notes;
        Q_EMIT quarantineNotesChanged();
    }
    refresh();
}

void ConversationListModel::put(const host::ConversationSummary& summary)
{
    Entry entry = entryFrom(summary);
    // What its answer does is told by setActivity().
    if (const auto known = m_all.constFind(entry.id); known != m_all.constEnd()) {
        entry.state = known->state;
        entry.tokens = known->tokens;
    }
    m_all.insert(entry.id, entry);
    refresh();
}

void ConversationListModel::setTitle(const QString& id, const QString& title)
{
    if (const auto entry = m_all.find(id); entry != m_all.end()) {
        entry->title = title;
        refresh();
    }
}

void ConversationListModel::remove(const QString& id)
{
    if (m_all.remove(id))
        refresh();
}

void ConversationListModel::setCurrent(const QString& id)
{
    m_current = id;
    if (const auto entry = m_all.find(id); entry != m_all.end() && entry->state == State::Unread)
        entry->state = State::Idle;
    refresh();
    if (!m_rows.isEmpty())
        Q_EMIT dataChanged(index(0), index(rowCount() - 1), {CurrentRole});
}

void ConversationListModel::setActivity(const QString& id, State state, quint64 tokens)
{
    const auto entry = m_all.find(id);
    if (entry == m_all.end())
        return;
    const bool unseen = state == State::Idle && entry->state == State::Answering && id != m_current;
    entry->state = unseen ? State::Unread : state;
    entry->tokens = tokens;
    const int row = rowOf(id, 0);
    if (row >= 0 && m_rows.at(row) != *entry) {
        m_rows[row] = *entry;
        Q_EMIT dataChanged(index(row), index(row), {StateRole, StateTextRole});
    }
}

int ConversationListModel::rowOf(const QString& id, int from) const
{
    for (int row = from; row < rowCount(); ++row) {
        if (m_rows.at(row).id == id)
            return row;
    }
    return -1;
}

ConversationListModel::Entry ConversationListModel::entryFrom(const host::ConversationSummary& summary)
{
    Entry entry;
    entry.id = QString::fromStdString(summary.id);
    entry.title = QString::fromStdString(summary.title);
    entry.modelName = QString::fromStdString(summary.modelName);
    entry.updated = timeFrom(summary.updatedUtc);
    entry.tokens = summary.lastAnswerTokens;
    if (summary.lastState == host::MessageState::Interrupted)
        entry.state = State::Interrupted;
    else if (summary.lastState == host::MessageState::Queued)
        entry.state = State::Queued;
    return entry;
}

QString ConversationListModel::stateText(const Entry& entry) const
{
    const bool today = entry.updated.date() == QDate::currentDate();
    const QString time = QLocale().toString(entry.updated, today ? "HH:mm" : "d MMM");
    switch (entry.state) {
    case State::Queued:
        return tr("Queued");
    case State::Answering:
        return entry.tokens > 0 ? tr("Answering · %1").arg(tokensText(entry.tokens)) : tr("Reading");
    case State::Interrupted:
        return entry.tokens > 0 ? tr("Interrupted at %1").arg(tokensText(entry.tokens)) : tr("Interrupted");
    case State::Unread:
        return tr("New answer · %1").arg(time);
    case State::Idle:
        break;
    }
    return entry.modelName.isEmpty() ? time : time + QStringLiteral(" · ") + entry.modelName;
}

// By the smallest changes: somebody may be scrolling in it.
void ConversationListModel::refresh()
{
    QList<Entry> wanted;
    for (const Entry& entry : std::as_const(m_all)) {
        if (m_search.isEmpty() || entry.title.contains(m_search, Qt::CaseInsensitive))
            wanted.append(entry);
    }
    std::sort(wanted.begin(), wanted.end(),
        [](const Entry& a, const Entry& b) { return std::pair(a.updated, a.id) > std::pair(b.updated, b.id); });
    QSet<QString> wantedIds;
    for (const Entry& entry : std::as_const(wanted))
        wantedIds.insert(entry.id);
    const int countBefore = rowCount();
    for (int row = rowCount() - 1; row >= 0; --row) {
        if (!wantedIds.contains(m_rows.at(row).id)) {
            beginRemoveRows({}, row, row);
            m_rows.removeAt(row);
            endRemoveRows();
        }
    }
    for (int row = 0; row < wanted.size(); ++row) {
        const Entry& entry = wanted.at(row);
        const int place = rowOf(entry.id, row);
        if (place < 0) {
            beginInsertRows({}, row, row);
            m_rows.insert(row, entry);
            endInsertRows();
            continue;
        }
        if (place != row) {
            beginMoveRows({}, place, place, {}, row);
            m_rows.move(place, row);
            endMoveRows();
        }
        if (m_rows.at(row) != entry) {
            m_rows[row] = entry;
            Q_EMIT dataChanged(index(row), index(row), {TitleRole, GroupRole, StateRole, StateTextRole});
        }
    }
    if (rowCount() != countBefore)
        Q_EMIT countChanged();
}

} // namespace waste::app
