#include "chat/message_list_model.h"

#include "chat/attachment_images.h"
#include "chat/message_text.h"

#include <algorithm>
#include <utility>

namespace waste::app {

namespace {

MessageListModel::Author authorOf(host::Role role)
{
    switch (role) {
    case host::Role::User:
        return MessageListModel::Author::User;
    case host::Role::Assistant:
        return MessageListModel::Author::Assistant;
    case host::Role::System:
    case host::Role::Tool:
        break;
    }
    return MessageListModel::Author::System;
}

bool isRunning(host::MessageState state)
{
    return state == host::MessageState::Queued || state == host::MessageState::Reading
        || state == host::MessageState::Answering;
}

} // namespace

MessageListModel::MessageListModel(QObject* parent)
    : QAbstractListModel(parent)
{
}

int MessageListModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

QVariant MessageListModel::data(const QModelIndex& index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid))
        return {};
    const Row& row = m_rows.at(index.row());
    const host::Message& message = messageOf(row);
    const bool isNotice = !row.notice.isEmpty();
    switch (role) {
    case MessageIdRole:
        return isNotice ? QString() : QString::fromStdString(message.id);
    case AuthorRole:
        return QVariant::fromValue(isNotice ? Author::Notice : authorOf(message.role));
    case StateRole:
        return QVariant::fromValue(isNotice ? State::Done : stateOf(message));
    case PlainTextRole:
        return isNotice ? row.notice : QString::fromStdString(message.textOf(host::Block::Type::Text));
    case PicturesRole:
        return isNotice ? QVariantList() : picturesOf(message);
    case BlocksRole: // building them changes nothing that anyone can see
        return QVariant::fromValue(const_cast<MessageListModel*>(this)->blocksOf(index.row()));
    case TimeRole:
        return timeFrom(message.timeUtc);
    case ModelNameRole:
        return QString::fromStdString(message.modelName);
    case StatisticsRole:
        return isNotice ? QString() : statisticsOf(message);
    case SiblingIndexRole:
        return row.siblingIndex;
    case SiblingCountRole:
        return row.siblingCount;
    case ErrorTitleRole:
        return isNotice ? QString() : errorTitleOf(message);
    case ErrorTextRole:
        return isNotice ? QString() : errorTextOf(message);
    case LastRole:
        return index.row() == rowCount() - 1;
    default:
        return {};
    }
}

QHash<int, QByteArray> MessageListModel::roleNames() const
{
    return {{MessageIdRole, "messageId"}, {AuthorRole, "author"}, {StateRole, "messageState"},
        {PlainTextRole, "plainText"}, {PicturesRole, "pictures"}, {BlocksRole, "blocks"}, {TimeRole, "time"},
        {ModelNameRole, "modelName"}, {StatisticsRole, "statistics"}, {SiblingIndexRole, "siblingIndex"},
        {SiblingCountRole, "siblingCount"}, {ErrorTitleRole, "errorTitle"}, {ErrorTextRole, "errorText"},
        {LastRole, "last"}};
}

QVariantList MessageListModel::picturesOf(const host::Message& message) const
{
    QVariantList pictures;
    for (const host::Block& block : message.blocks) {
        if (block.type == host::Block::Type::Image)
            pictures << QVariant::fromValue(SentPicture{QString::fromStdString(block.name), pictureDetails(block),
                attachmentUrl(m_conversation.id, block.sha256)});
    }
    return pictures;
}

void MessageListModel::show(host::Conversation conversation)
{
    beginResetModel();
    for (const Row& row : std::as_const(m_rows)) {
        if (row.blocks != nullptr)
            row.blocks->deleteLater();
    }
    m_conversation = std::move(conversation);
    m_rows = branchRows();
    endResetModel();
}

host::Conversation MessageListModel::take()
{
    host::Conversation conversation = m_conversation; // the rows need theirs until they are gone
    show({});
    return conversation;
}

void MessageListModel::add(host::Message message)
{
    m_conversation.leaf = message.id;
    m_conversation.messages.push_back(std::move(message));
    replaceRows(branchRows());
}

void MessageListModel::removeLast(const std::string& messageId)
{
    auto& messages = m_conversation.messages;
    if (messages.empty() || messages.back().id != messageId)
        return;
    // First the row, which needs the message.
    m_conversation.leaf = messages.back().parent;
    if (m_conversation.leaf.empty())
        replaceRows({});
    else
        replaceRows(branchRows());
    messages.pop_back();
    replaceRows(branchRows());
}

void MessageListModel::showBranch(const std::string& leaf)
{
    m_conversation.leaf = leaf;
    replaceRows(branchRows());
}

void MessageListModel::setTitle(const std::string& title)
{
    m_conversation.title = title;
}

void MessageListModel::setState(std::string_view messageId, host::MessageState state, const std::string& reason)
{
    host::Message* message = m_conversation.find(messageId);
    if (message == nullptr || (message->state == state && message->reason == reason))
        return;
    const bool wasRunning = isRunning(message->state);
    message->state = state;
    message->reason = reason;
    const int row = rowOf(messageId);
    if (row >= 0 && m_rows.at(row).blocks != nullptr && wasRunning != isRunning(state)) {
        if (wasRunning)
            m_rows.at(row).blocks->finish();
        else // goes on in the middle of a block: closed ones could not grow
            reopen(row);
    }
    changed(row, {StateRole, ErrorTitleRole, ErrorTextRole, StatisticsRole});
}

void MessageListModel::reopen(int row)
{
    std::exchange(m_rows[row].blocks, nullptr)->deleteLater();
    changed(row, {BlocksRole});
}

void MessageListModel::setTimings(std::string_view messageId, const host::AnswerTimings& timings)
{
    if (host::Message* message = m_conversation.find(messageId)) {
        message->timings = timings;
        changed(rowOf(messageId), {StatisticsRole, ErrorTitleRole});
    }
}

void MessageListModel::append(std::string_view messageId, host::Block::Type type, const std::string& text)
{
    host::Message* message = m_conversation.find(messageId);
    if (message == nullptr)
        return;
    message->append(type, text);
    const int row = rowOf(messageId);
    ReplyBlocks* blocks = row >= 0 ? m_rows.at(row).blocks : nullptr;
    if (blocks == nullptr)
        return; // built from the message when somebody looks
    if (type == host::Block::Type::Thinking) {
        blocks->appendThinking(QString::fromStdString(text));
    } else {
        blocks->closeThinking();
        blocks->appendMarkdown(text);
    }
}

void MessageListModel::appendToolCall(std::string_view messageId, const host::Block& call)
{
    host::Message* message = m_conversation.find(messageId);
    if (message == nullptr)
        return;
    message->blocks.push_back(call);
    const int row = rowOf(messageId);
    if (row >= 0 && m_rows.at(row).blocks != nullptr)
        m_rows.at(row).blocks->appendToolCall(QString::fromStdString(call.name), QString::fromStdString(call.text));
}

void MessageListModel::setThinkingFigures(std::string_view messageId, std::uint64_t tokens, std::uint64_t ms)
{
    host::Message* message = m_conversation.find(messageId);
    if (message == nullptr)
        return;
    message->timings.thinkingTokens = tokens;
    message->timings.thinkingMs = ms;
    if (const int row = rowOf(messageId); row >= 0 && m_rows.at(row).blocks != nullptr)
        m_rows.at(row).blocks->setThinkingFigures(message->timings);
}

QList<MessageListModel::Row> MessageListModel::branchRows() const
{
    QList<Row> rows;
    for (const auto& entry : m_conversation.branch()) {
        Row row;
        row.messageIndex = static_cast<std::size_t>(entry.message - m_conversation.messages.data());
        const bool afterGap = std::any_of(m_conversation.skippedLines.begin(), m_conversation.skippedLines.end(),
            [&row](const host::SkippedLine& line) { return line.messageIndex == row.messageIndex; });
        if (afterGap) {
            Row notice = row;
            notice.notice =
                tr("A part of this conversation could not be read. What was readable was set aside unchanged.");
            rows.append(notice);
        }
        row.siblingIndex = static_cast<int>(entry.siblingIndex) + 1;
        row.siblingCount = static_cast<int>(entry.siblingCount);
        rows.append(row);
    }
    return rows;
}

// Keeps the rows that both lists begin with: their delegates may be in the middle of something.
void MessageListModel::replaceRows(const QList<Row>& rows)
{
    int same = 0;
    while (same < m_rows.size() && same < rows.size() && m_rows.at(same).messageIndex == rows.at(same).messageIndex
        && m_rows.at(same).notice == rows.at(same).notice) {
        Row& row = m_rows[same];
        const Row& fresh = rows.at(same);
        if (std::exchange(row.siblingIndex, fresh.siblingIndex) != fresh.siblingIndex
            || std::exchange(row.siblingCount, fresh.siblingCount) != fresh.siblingCount)
            changed(same, {SiblingIndexRole, SiblingCountRole});
        ++same;
    }
    if (same < m_rows.size()) {
        beginRemoveRows({}, same, rowCount() - 1);
        while (m_rows.size() > same) {
            if (ReplyBlocks* blocks = m_rows.takeLast().blocks)
                blocks->deleteLater();
        }
        endRemoveRows();
    }
    if (same < rows.size()) {
        beginInsertRows({}, same, static_cast<int>(rows.size()) - 1);
        m_rows += rows.mid(same);
        endInsertRows();
    }
    if (same > 0)
        changed(same - 1, {LastRole});
}

int MessageListModel::rowOf(std::string_view messageId) const
{
    for (int row = rowCount() - 1; row >= 0; --row) {
        if (m_rows.at(row).notice.isEmpty() && messageOf(m_rows.at(row)).id == messageId)
            return row;
    }
    return -1;
}

const host::Message& MessageListModel::messageOf(const Row& row) const
{
    return m_conversation.messages[row.messageIndex];
}

ReplyBlocks* MessageListModel::blocksOf(int index)
{
    Row& row = m_rows[index];
    const host::Message& message = messageOf(row);
    if (!row.notice.isEmpty() || message.role != host::Role::Assistant)
        return nullptr;
    if (row.blocks != nullptr)
        return row.blocks;
    row.blocks = new ReplyBlocks(this);
    for (const host::Block& block : message.blocks) {
        if (block.type == host::Block::Type::Thinking)
            row.blocks->appendThinking(QString::fromStdString(block.text));
        else if (block.type == host::Block::Type::Text)
            row.blocks->appendMarkdown(block.text);
        else if (block.type == host::Block::Type::ToolCall)
            row.blocks->appendToolCall(QString::fromStdString(block.name), QString::fromStdString(block.text));
    }
    row.blocks->setThinkingFigures(message.timings);
    if (!message.textOf(host::Block::Type::Text).empty())
        row.blocks->closeThinking();
    if (!isRunning(message.state))
        row.blocks->finish();
    return row.blocks;
}

void MessageListModel::changed(int row, const QList<int>& roles)
{
    if (row >= 0)
        Q_EMIT dataChanged(index(row), index(row), roles);
}

} // namespace waste::app
