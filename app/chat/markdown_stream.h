#pragma once

#include "chat/markdown_blocks.h"

#include <QList>

#include <cstddef>
#include <string>
#include <string_view>

namespace waste::app {

// Cuts Markdown that grows at its end into blocks that are finished and the rest that is not.
//
// A complete line that begins another block on the top level closes the one before it: CommonMark never
// reaches back over such a line. So only the tail is parsed again, however long the answer becomes. A block
// that grows beyond kBlockBytesMax is cut at the next place where that is hardly seen (a list item, a table
// row, a line), which bounds the cost of every input; fenced code may be longer, its lines are not parsed.
class MarkdownStream {
public:
    static constexpr std::size_t kBlockBytesMax = 8192;

    void append(std::string_view text);
    // The blocks that were closed since the last call. They never change again.
    QList<MarkdownBlock> takeClosed();
    // What the rest looks like now.
    [[nodiscard]] QList<MarkdownBlock> open() const { return parseMarkdown(m_tail); }
    [[nodiscard]] std::size_t openBytes() const { return m_tail.size(); }
    void finish(); // closes the rest

private:
    void endLine(std::size_t begin, std::size_t end);
    void cutLongLine();
    void closeBefore(std::size_t offset);
    void splitLongBlock(std::size_t lineBegin, std::size_t lineEnd);

    std::string m_tail; // begins with the open block
    std::size_t m_lineBegin = 0; // in m_tail: the line that is not complete yet
    MarkdownOutline m_outline; // of the complete lines of m_tail
    bool m_lastLineIsBlank = false;
    std::string m_fence; // what closes the open block if it is fenced code, else empty
    QList<MarkdownBlock> m_closed;
};

} // namespace waste::app
