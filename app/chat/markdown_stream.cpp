#include "chat/markdown_stream.h"

#include <algorithm>
#include <utility>

namespace waste::app {

namespace {

bool isBlank(std::string_view line)
{
    return line.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

std::string_view withoutIndent(std::string_view line)
{
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    return indent <= 3 ? line.substr(indent) : std::string_view();
}

// The run of backticks or tildes that a line begins with if it is three or longer.
std::string_view fenceOf(std::string_view line)
{
    line = withoutIndent(line);
    if (line.empty() || (line[0] != '`' && line[0] != '~'))
        return {};
    const std::size_t length = std::min(line.find_first_not_of(line[0]), line.size());
    return length >= 3 ? line.substr(0, length) : std::string_view();
}

// The fence if `text` is the first line of fenced code: not every line of backticks is one.
std::string_view fenceOpenedBy(std::string_view text)
{
    const auto blocks = parseMarkdown(text);
    return blocks.size() == 1 && blocks[0].kind == MarkdownBlock::Kind::Code ? fenceOf(text) : std::string_view();
}

bool closesFence(std::string_view line, std::string_view opening)
{
    const std::string_view fence = fenceOf(line);
    return fence.size() >= opening.size() && fence[0] == opening[0]
        && isBlank(withoutIndent(line).substr(fence.size()));
}

bool isListItem(std::string_view line)
{
    const std::size_t digits = std::min(line.find_first_not_of("0123456789"), line.size());
    const bool numbered = digits > 0 && digits < line.size() && (line[digits] == '.' || line[digits] == ')');
    const bool bulleted = digits == 0 && !line.empty() && (line[0] == '-' || line[0] == '*' || line[0] == '+');
    const std::size_t behind = numbered ? digits + 1 : 1;
    return (numbered || bulleted) && behind < line.size() && line[behind] == ' ';
}

// Most lines of an answer need no parse to know that: directly behind a line of text another one that
// begins with a letter is more of it, and a row is more of a table.
bool surelyContinues(MarkdownBlock::Kind kind, std::string_view line)
{
    const char first = line[0];
    const bool letter = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z');
    return kind == MarkdownBlock::Kind::Text ? letter : kind == MarkdownBlock::Kind::Table && first == '|';
}

} // namespace

void MarkdownStream::append(std::string_view text)
{
    while (!text.empty()) {
        const std::size_t lineFeed = text.find('\n');
        const std::size_t count = lineFeed == std::string_view::npos ? text.size() : lineFeed + 1;
        m_tail += text.substr(0, count);
        text.remove_prefix(count);
        if (lineFeed != std::string_view::npos)
            endLine(m_lineBegin, m_tail.size());
        else
            cutLongLine();
    }
}

QList<MarkdownBlock> MarkdownStream::takeClosed()
{
    return std::exchange(m_closed, {});
}

void MarkdownStream::finish()
{
    closeBefore(m_tail.size());
}

void MarkdownStream::endLine(std::size_t begin, std::size_t end)
{
    const std::string_view line = std::string_view(m_tail).substr(begin, end - begin);
    m_lineBegin = end;
    if (!m_fence.empty()) {
        if (closesFence(line, m_fence))
            closeBefore(end);
        return;
    }
    const bool afterBlank = std::exchange(m_lastLineIsBlank, isBlank(line));
    if (m_lastLineIsBlank) {
        if (end == line.size())
            closeBefore(end); // before the first block, or between two
        return;
    }
    const bool goesOn = !afterBlank && m_outline.blockCount > 0 && surelyContinues(m_outline.lastKind, line);
    const int countBefore = m_outline.blockCount;
    if (!goesOn)
        m_outline = outlineMarkdown(std::string_view(m_tail).substr(0, end));
    if (m_outline.blockCount > countBefore) {
        // Behind the definition of a link a line can be the visible rest of what began with it.
        const bool beginsHere = outlineMarkdown(line) == MarkdownOutline{1, m_outline.lastKind};
        if (countBefore > 0 && beginsHere)
            closeBefore(begin);
        m_outline = outlineMarkdown(std::string_view(m_tail).substr(0, m_lineBegin));
        m_fence = fenceOpenedBy(m_tail);
    } else if (end > kBlockBytesMax) {
        splitLongBlock(begin, end);
    }
}

void MarkdownStream::splitLongBlock(std::size_t lineBegin, std::size_t lineEnd)
{
    const std::string line = m_tail.substr(lineBegin, lineEnd - lineBegin);
    const bool isTable = m_outline.lastKind == MarkdownBlock::Kind::Table;
    const bool isList = m_outline.lastKind == MarkdownBlock::Kind::List;
    // Inside an item every cut would end the list.
    if (isList && !isListItem(line) && lineBegin < 4 * kBlockBytesMax)
        return;
    std::string header;
    if (isTable) {
        const std::size_t headerEnd = m_tail.find('\n', m_tail.find('\n') + 1) + 1;
        if (headerEnd < kBlockBytesMax / 2)
            header = m_tail.substr(0, headerEnd);
    }
    closeBefore(lineBegin);
    m_tail.insert(0, header);
    m_lineBegin += header.size();
    m_outline = outlineMarkdown(std::string_view(m_tail).substr(0, m_lineBegin));
}

// A paragraph without a line feed, as a model writes it that goes round in circles.
void MarkdownStream::cutLongLine()
{
    if (!m_fence.empty() || m_tail.size() - m_lineBegin <= kBlockBytesMax)
        return;
    const std::size_t space = m_tail.rfind(' ');
    const std::size_t cut = space == std::string::npos || space < m_lineBegin ? m_tail.size() : space + 1;
    closeBefore(cut);
}

void MarkdownStream::closeBefore(std::size_t offset)
{
    m_closed += parseMarkdown(std::string_view(m_tail).substr(0, offset));
    m_tail.erase(0, offset);
    m_lineBegin -= std::min(offset, m_lineBegin);
    m_outline = {};
    m_fence.clear();
}

} // namespace waste::app
