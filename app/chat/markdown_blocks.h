#pragma once

#include <QList>
#include <QString>
#include <QStringList>

#include <string_view>

namespace waste::app {

// A block of Markdown on the top level, ready to be drawn.
struct MarkdownBlock {
    enum class Kind { Text, Heading, List, Code, Quote, Table, Rule };
    Kind kind = Kind::Text;
    // Our own subset of rich text: p, br, b, i, s, code, pre, a, ul, ol, li, blockquote, table, tr, th, td.
    // Everything that the model wrote is escaped in it; Table and Code have none.
    QString html;
    QString code; // Code: exact text without its last line feed
    QString language; // Code: first word behind the fence, maybe empty
    int level = 0; // Heading: 1 to 6
    QStringList cells; // Table: rich text, row by row, header row first
    QList<int> alignments; // Table: Qt::AlignmentFlag of each column
    bool operator==(const MarkdownBlock&) const = default;
};

// Raw HTML is text, pictures become their descriptions, links lead to http, https and mailto only.
// Hostile input (deep nesting, tables of thousands of columns) is shown, but plainly.
QList<MarkdownBlock> parseMarkdown(std::string_view utf8);

// How many blocks parseMarkdown() would give and of what kind the last one is, without building them.
struct MarkdownOutline {
    int blockCount = 0;
    MarkdownBlock::Kind lastKind = MarkdownBlock::Kind::Text;
    bool operator==(const MarkdownOutline&) const = default;
};
MarkdownOutline outlineMarkdown(std::string_view utf8);

} // namespace waste::app
