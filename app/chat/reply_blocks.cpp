#include "chat/reply_blocks.h"

#include <QTimerEvent>

#include <algorithm>

namespace waste::app {

namespace {

constexpr std::size_t kShortBlockBytes = 1000; // laid out anew in about 2 ms
constexpr int kLongBlockIntervalMs = 250;
constexpr qsizetype kTailCharacters = 160; // one line of any window

ReplyBlocks::Type typeOf(MarkdownBlock::Kind kind)
{
    switch (kind) {
    case MarkdownBlock::Kind::Heading:
        return ReplyBlocks::Type::Heading;
    case MarkdownBlock::Kind::List:
        return ReplyBlocks::Type::List;
    case MarkdownBlock::Kind::Code:
        return ReplyBlocks::Type::Code;
    case MarkdownBlock::Kind::Quote:
        return ReplyBlocks::Type::Quote;
    case MarkdownBlock::Kind::Table:
        return ReplyBlocks::Type::Table;
    case MarkdownBlock::Kind::Rule:
        return ReplyBlocks::Type::Rule;
    case MarkdownBlock::Kind::Text:
        break;
    }
    return ReplyBlocks::Type::Text;
}

QList<int> changedRoles(const MarkdownBlock& before, const MarkdownBlock& after)
{
    QList<int> roles;
    if (before.html != after.html)
        roles << ReplyBlocks::HtmlRole;
    if (before.code != after.code)
        roles << ReplyBlocks::PlainTextRole;
    if (before.language != after.language)
        roles << ReplyBlocks::LanguageRole;
    if (before.level != after.level)
        roles << ReplyBlocks::LevelRole;
    if (before.alignments != after.alignments)
        roles << ReplyBlocks::ColumnCountRole << ReplyBlocks::AlignmentsRole;
    if (before.cells != after.cells)
        roles << ReplyBlocks::CellsRole;
    return roles;
}

QString tailOf(const QString& text)
{
    return text.right(kTailCharacters).simplified();
}

} // namespace

ReplyBlocks::ReplyBlocks(QObject* parent)
    : QAbstractListModel(parent)
{
}

int ReplyBlocks::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

QVariant ReplyBlocks::data(const QModelIndex& index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid))
        return {};
    const Row& row = m_rows.at(index.row());
    switch (role) {
    case TypeRole:
        return QVariant::fromValue(row.type);
    case HtmlRole:
        return row.block.html;
    case PlainTextRole:
        return row.type == Type::Code ? row.block.code : row.plainText;
    case LanguageRole:
        return row.type == Type::ToolCall ? row.name : row.block.language;
    case LevelRole:
        return row.block.level;
    case ClosedRole:
        return row.closed;
    case CellsRole:
        return row.block.cells;
    case ColumnCountRole:
        return static_cast<int>(row.block.alignments.size());
    case AlignmentsRole:
        return QVariant::fromValue(row.block.alignments);
    case TailRole:
        return row.type == Type::Thinking ? tailOf(row.plainText) : QString();
    case TokenCountRole:
        return row.type == Type::Thinking ? m_thinkingTokens : 0;
    case SecondsRole:
        return row.type == Type::Thinking ? m_thinkingSeconds : 0;
    default:
        return {};
    }
}

QHash<int, QByteArray> ReplyBlocks::roleNames() const
{
    return {{TypeRole, "blockType"}, {HtmlRole, "html"}, {PlainTextRole, "plainText"}, {LanguageRole, "language"},
        {LevelRole, "level"}, {ClosedRole, "closed"}, {CellsRole, "cells"}, {ColumnCountRole, "columnCount"},
        {AlignmentsRole, "alignments"}, {TailRole, "tail"}, {TokenCountRole, "tokenCount"}, {SecondsRole, "seconds"}};
}

void ReplyBlocks::appendThinking(const QString& text)
{
    if (!hasThinking()) {
        beginInsertRows({}, 0, 0);
        m_rows.prepend({.type = Type::Thinking});
        ++m_openRow;
        endInsertRows();
    }
    m_rows.first().plainText += text;
    Q_EMIT dataChanged(index(0), index(0), {PlainTextRole, TailRole});
}

void ReplyBlocks::closeThinking()
{
    if (!hasThinking() || m_rows.first().closed)
        return;
    m_rows.first().closed = true;
    Q_EMIT dataChanged(index(0), index(0), {ClosedRole});
}

void ReplyBlocks::setThinkingFigures(const host::AnswerTimings& timings)
{
    const int tokens = static_cast<int>(timings.thinkingTokens);
    const int seconds = static_cast<int>(timings.thinkingMs / 1000);
    if (m_thinkingTokens == tokens && m_thinkingSeconds == seconds)
        return;
    m_thinkingTokens = tokens;
    m_thinkingSeconds = seconds;
    if (hasThinking())
        Q_EMIT dataChanged(index(0), index(0), {TokenCountRole, SecondsRole});
}

void ReplyBlocks::appendMarkdown(std::string_view utf8)
{
    m_stream.append(utf8);
    if (m_stream.openBytes() <= kShortBlockBytes || !m_shown.isValid() || m_shown.hasExpired(kLongBlockIntervalMs))
        show();
    else if (!m_showLater.isActive())
        m_showLater.start(kLongBlockIntervalMs, this);
}

void ReplyBlocks::appendToolCall(const QString& name, const QString& arguments)
{
    const int row = rowCount();
    beginInsertRows({}, row, row);
    m_rows.append({.type = Type::ToolCall, .plainText = arguments, .name = name, .closed = true});
    ++m_toolCallCount;
    endInsertRows();
}

void ReplyBlocks::finish()
{
    closeThinking();
    m_stream.finish();
    show();
}

void ReplyBlocks::timerEvent(QTimerEvent* event)
{
    if (event->timerId() == m_showLater.timerId())
        show();
}

void ReplyBlocks::show()
{
    m_showLater.stop();
    m_shown.start();
    QList<Row> rows;
    const QList<MarkdownBlock> closed = m_stream.takeClosed();
    for (const MarkdownBlock& block : closed)
        rows.append({.type = typeOf(block.kind), .block = block, .closed = true});
    const QList<MarkdownBlock> open = m_stream.open();
    for (const MarkdownBlock& block : open)
        rows.append({.type = typeOf(block.kind), .block = block});
    replaceFrom(m_openRow, rows);
    m_openRow += static_cast<int>(closed.size());
}

// A delegate is kept while its block keeps its type: only what changed is drawn anew.
void ReplyBlocks::replaceFrom(int first, const QList<Row>& rows)
{
    const int oldEnd = rowCount() - m_toolCallCount;
    int row = first;
    for (; row < oldEnd && row - first < rows.size(); ++row) {
        const Row& fresh = rows.at(row - first);
        Row& shown = m_rows[row];
        if (shown.type != fresh.type)
            break;
        QList<int> roles = changedRoles(shown.block, fresh.block);
        if (shown.closed != fresh.closed)
            roles << ClosedRole;
        shown = fresh;
        if (!roles.isEmpty())
            Q_EMIT dataChanged(index(row), index(row), roles);
    }
    if (row < oldEnd) {
        beginRemoveRows({}, row, oldEnd - 1);
        m_rows.remove(row, oldEnd - row);
        endRemoveRows();
    }
    const int newEnd = first + static_cast<int>(rows.size());
    if (row < newEnd) {
        beginInsertRows({}, row, newEnd - 1);
        for (int i = row; i < newEnd; ++i)
            m_rows.insert(i, rows.at(i - first));
        endInsertRows();
    }
}

} // namespace waste::app
