#pragma once

#include "chat/markdown_blocks.h"

#include <QAbstractListModel>
#include <QtQml/qqmlregistration.h>

#include <string>
#include <string_view>
#include <vector>

namespace waste::app {

// One answer as a list of typed blocks, growing at its end (spec: desktop 4.2).
//
// Markdown is parsed from the last open block on; a block that is closed never changes again, so a long
// answer costs as much per word at its end as at its beginning. The thinking, where there is any, is the
// first row. GUI thread only.
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
        PlainTextRole, // Code, Thinking, ToolCall: the exact text; others: their Markdown
        LanguageRole, // Code: as the model wrote it, maybe empty; ToolCall: the tool's name
        LevelRole, // Heading: 1 to 6
        ClosedRole, // false while the model may still change it
        CellsRole, // Table: rich text of the cells, row by row, header row first
        ColumnCountRole, // Table
        AlignmentsRole, // Table: Qt::Alignment of each column
        TailRole, // Thinking: its last words on one line
        TokenCountRole, // Thinking
        SecondsRole, // Thinking
    };

    explicit ReplyBlocks(QObject* parent = nullptr);

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QHash<int, QByteArray> roleNames() const override;

    void appendThinking(std::string_view text);
    void setThinkingFigures(int tokenCount, int seconds);
    void appendMarkdown(std::string_view text);
    void addToolCall(const QString& name, const QString& arguments);
    // Shows what arrived since the last parse. Cheap when nothing did; at most four times a second for a
    // long open block, see kSmallTailBytes.
    void refresh();
    void finish(); // nothing more comes: parses the rest and closes every block
    [[nodiscard]] bool isBehind() const; // refresh() has something left to show

    [[nodiscard]] const std::string& markdown() const; // everything appended, as it came
    [[nodiscard]] const std::string& thinking() const;
};

} // namespace waste::app
