#pragma once

#include "chat/markdown_stream.h"
#include "host/conversation.h"

#include <QAbstractListModel>
#include <QBasicTimer>
#include <QElapsedTimer>
#include <QList>
#include <QtQml/qqmlregistration.h>

#include <string_view>

namespace waste::app {

// One answer as a list of typed blocks, growing at its end (spec: desktop 4.2).
//
// The thinking, where there is any, is the first row; blocks of Markdown follow, then tool calls. A block
// that is closed never changes again. What is appended is shown at once while the open block is short, and
// at most four times a second when it is long: its cost would otherwise grow with its length. GUI thread only.
class ReplyBlocks : public QAbstractListModel {
    Q_OBJECT
    QML_ELEMENT
    QML_UNCREATABLE("Comes from MessageListModel.")

public:
    enum class Type { Text, Heading, List, Code, Quote, Table, Rule, Thinking, ToolCall };
    Q_ENUM(Type)
    enum Role {
        TypeRole = Qt::UserRole + 1, // Type
        HtmlRole, // Text, Heading, List, Quote: our own safe subset of rich text
        PlainTextRole, // Code, Thinking: the exact text; ToolCall: its arguments
        LanguageRole, // Code: as the model wrote it, maybe empty; ToolCall: the tool's name
        LevelRole, // Heading: 1 to 6
        ClosedRole, // false while the model may still change it
        CellsRole, // Table: rich text of the cells, row by row, header row first
        ColumnCountRole, // Table
        AlignmentsRole, // Table: Qt::AlignmentFlag of each column
        TailRole, // Thinking: its last words on one line
        TokenCountRole, // Thinking
        SecondsRole, // Thinking
    };

    explicit ReplyBlocks(QObject* parent = nullptr);

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QHash<int, QByteArray> roleNames() const override;

    void appendThinking(const QString& text);
    void closeThinking();
    void setThinkingFigures(const host::AnswerTimings& timings);
    void appendMarkdown(std::string_view utf8);
    void appendToolCall(const QString& name, const QString& arguments);
    void finish(); // nothing more comes for now: shows the rest and closes every block

protected:
    void timerEvent(QTimerEvent* event) override;

private:
    struct Row {
        Type type = Type::Text;
        MarkdownBlock block = {};
        QString plainText = {}; // Thinking, ToolCall
        QString name = {}; // ToolCall
        bool closed = false;
    };
    void show();
    void replaceFrom(int first, const QList<Row>& rows);
    [[nodiscard]] bool hasThinking() const { return !m_rows.isEmpty() && m_rows.first().type == Type::Thinking; }

    QList<Row> m_rows;
    MarkdownStream m_stream;
    int m_openRow = 0; // the first row that m_stream may still change
    int m_toolCallCount = 0; // rows at the end
    int m_thinkingTokens = 0;
    int m_thinkingSeconds = 0;
    QElapsedTimer m_shown; // since the last show()
    QBasicTimer m_showLater;
};

} // namespace waste::app
