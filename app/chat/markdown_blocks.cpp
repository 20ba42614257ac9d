#include "chat/markdown_blocks.h"

#include <QRegularExpression>
#include <QUrl>

#include <md4c.h>

#include <array>
#include <utility>

namespace waste::app {

namespace {

// Deeper levels are flattened: Qt's rich text recurses over nested lists, quotes and spans.
constexpr int kNestingMax = 12;
// md4c fills every short row up to the number of columns, so a few kilobytes can ask for millions of cells.
constexpr unsigned kTableColumnsMax = 64;
constexpr unsigned kTableCellsMax = 20000;
constexpr int kAbort = 1; // what a callback returns to end the parse

QString textFrom(const MD_CHAR* text, MD_SIZE size)
{
    return QString::fromUtf8(text, static_cast<qsizetype>(size));
}

QString textFrom(const MD_ATTRIBUTE& attribute)
{
    return attribute.text == nullptr ? QString() : textFrom(attribute.text, attribute.size);
}

// Empty for every scheme that could do more than open a page or a message.
QString allowedLink(const QString& href)
{
    const QUrl url(href, QUrl::StrictMode);
    const QString scheme = url.scheme();
    const bool allowed = scheme == "http" || scheme == "https" || scheme == "mailto";
    return url.isValid() && allowed ? url.toString(QUrl::FullyEncoded) : QString();
}

MarkdownBlock::Kind kindOf(MD_BLOCKTYPE type)
{
    switch (type) {
    case MD_BLOCK_UL:
    case MD_BLOCK_OL:
        return MarkdownBlock::Kind::List;
    case MD_BLOCK_QUOTE:
        return MarkdownBlock::Kind::Quote;
    case MD_BLOCK_HR:
        return MarkdownBlock::Kind::Rule;
    case MD_BLOCK_H:
        return MarkdownBlock::Kind::Heading;
    case MD_BLOCK_CODE:
        return MarkdownBlock::Kind::Code;
    case MD_BLOCK_TABLE:
        return MarkdownBlock::Kind::Table;
    default:
        return MarkdownBlock::Kind::Text;
    }
}

int alignmentOf(MD_ALIGN align)
{
    switch (align) {
    case MD_ALIGN_CENTER:
        return Qt::AlignHCenter;
    case MD_ALIGN_RIGHT:
        return Qt::AlignRight;
    case MD_ALIGN_LEFT:
    case MD_ALIGN_DEFAULT:
        break;
    }
    return Qt::AlignLeft;
}

bool isNumber(const QString& text)
{
    static const QRegularExpression number("^[+\\-\u2212]?\\d[\\d.,\u00a0\u202f]*( ?%)?$");
    return number.match(text).hasMatch();
}

// Collects the callbacks of one parse.
class BlockWriter {
public:
    int enterBlock(MD_BLOCKTYPE type, void* detail);
    int leaveBlock(MD_BLOCKTYPE type);
    int enterSpan(MD_SPANTYPE type, void* detail);
    int leaveSpan(MD_SPANTYPE type);
    int text(MD_TEXTTYPE type, const MD_CHAR* text, MD_SIZE size);

    QList<MarkdownBlock> blocks;

private:
    void beginTopBlock(MD_BLOCKTYPE type, void* detail);
    void enterInnerBlock(MD_BLOCKTYPE type, void* detail);
    [[nodiscard]] bool isInTopTable() const { return blocks.last().kind == MarkdownBlock::Kind::Table; }
    void alignNumbers();
    QString& target() { return isInTopTable() && m_inCell ? blocks.last().cells.last() : blocks.last().html; }

    int m_depth = 0; // of blocks; 1 is the top level
    int m_markup = 0; // of containers that were given a tag
    QList<bool> m_tagged; // per open container
    QStringList m_spanEnds; // end tags of the open spans; empty for those without one
    bool m_inCell = false;
    QList<bool> m_alignedColumns; // of the table in hand: whether the author said how
    QString m_taskMark; // stands before the next text, inside its paragraph
};

void BlockWriter::beginTopBlock(MD_BLOCKTYPE type, void* detail)
{
    MarkdownBlock block;
    block.kind = kindOf(type);
    if (type == MD_BLOCK_H)
        block.level = static_cast<int>(static_cast<MD_BLOCK_H_DETAIL*>(detail)->level);
    else if (type == MD_BLOCK_CODE)
        block.language = textFrom(static_cast<MD_BLOCK_CODE_DETAIL*>(detail)->lang);
    blocks.append(block);
}

void BlockWriter::enterInnerBlock(MD_BLOCKTYPE type, void* detail)
{
    QString tag;
    switch (type) {
    case MD_BLOCK_UL:
        tag = "<ul>";
        break;
    case MD_BLOCK_OL:
        tag = QString("<ol start=\"%1\">").arg(static_cast<MD_BLOCK_OL_DETAIL*>(detail)->start);
        break;
    case MD_BLOCK_LI:
        tag = "<li>";
        break;
    case MD_BLOCK_QUOTE:
        tag = "<blockquote>";
        break;
    case MD_BLOCK_P:
        tag = "<p>";
        break;
    case MD_BLOCK_H:
        tag = "<p><b>";
        break;
    case MD_BLOCK_CODE:
        tag = "<pre>";
        break;
    case MD_BLOCK_TABLE:
        tag = "<table cellpadding=\"4\">";
        break;
    case MD_BLOCK_TR:
        tag = "<tr>";
        break;
    case MD_BLOCK_TH:
        tag = "<th>";
        break;
    case MD_BLOCK_TD:
        tag = "<td>";
        break;
    default:
        break;
    }
    target() += tag;
    if (type == MD_BLOCK_LI && static_cast<MD_BLOCK_LI_DETAIL*>(detail)->is_task != 0)
        m_taskMark = QChar(static_cast<MD_BLOCK_LI_DETAIL*>(detail)->task_mark == ' ' ? 0x2610 : 0x2611) + QString(' ');
}

int BlockWriter::enterBlock(MD_BLOCKTYPE type, void* detail)
{
    if (type == MD_BLOCK_DOC)
        return 0;
    if (type == MD_BLOCK_TABLE) {
        const auto& table = *static_cast<MD_BLOCK_TABLE_DETAIL*>(detail);
        if (table.col_count > kTableColumnsMax || table.col_count * (table.body_row_count + 1) > kTableCellsMax)
            return kAbort;
    }
    ++m_depth;
    if (m_depth == 1)
        beginTopBlock(type, detail);
    if (isInTopTable()) {
        if (type == MD_BLOCK_TABLE)
            m_alignedColumns.clear();
        if (type == MD_BLOCK_TH) {
            const MD_ALIGN align = static_cast<MD_BLOCK_TD_DETAIL*>(detail)->align;
            blocks.last().alignments.append(alignmentOf(align));
            m_alignedColumns.append(align != MD_ALIGN_DEFAULT);
        }
        m_inCell = type == MD_BLOCK_TH || type == MD_BLOCK_TD;
        if (m_inCell)
            blocks.last().cells.append(QString());
        return 0;
    }
    // The top level's own tag is the delegate's business, except where the block is a container.
    const bool container = type == MD_BLOCK_UL || type == MD_BLOCK_OL || (type == MD_BLOCK_QUOTE && m_depth > 1);
    const bool tagged = (m_depth > 1 || container) && type != MD_BLOCK_HR && m_markup < kNestingMax * 2;
    m_tagged.append(tagged);
    if (tagged) {
        ++m_markup;
        enterInnerBlock(type, detail);
    }
    return 0;
}

int BlockWriter::leaveBlock(MD_BLOCKTYPE type)
{
    if (type == MD_BLOCK_DOC)
        return 0;
    --m_depth;
    if (isInTopTable()) {
        if (type == MD_BLOCK_TD)
            alignNumbers();
        m_inCell = false;
        return 0;
    }
    if (!m_tagged.takeLast()) {
        if (m_depth > 0)
            target() += "<br>";
        return 0;
    }
    --m_markup;
    constexpr std::array kEnds = {"", "</blockquote>", "</ul>", "</ol>", "</li>", "", "</b></p>", "</pre>", "", "</p>",
        "</table>", "", "", "</tr>", "</th>", "</td>"};
    static_assert(kEnds.size() == MD_BLOCK_TD + 1);
    target() += kEnds[type];
    return 0;
}

// Numbers end at the right where the author said nothing. The first row decides, so that a table keeps its shape while
// it grows; the first column names the rows.
void BlockWriter::alignNumbers()
{
    MarkdownBlock& table = blocks.last();
    const qsizetype columns = table.alignments.size();
    const qsizetype column = table.cells.size() - 1 - columns;
    if (column > 0 && column < columns && !m_alignedColumns[column] && isNumber(table.cells.last()))
        table.alignments[column] = Qt::AlignRight;
}

int BlockWriter::enterSpan(MD_SPANTYPE type, void* detail)
{
    QString begin;
    QString end;
    switch (type) {
    case MD_SPAN_EM:
        begin = "<i>";
        end = "</i>";
        break;
    case MD_SPAN_STRONG:
        begin = "<b>";
        end = "</b>";
        break;
    case MD_SPAN_DEL:
        begin = "<s>";
        end = "</s>";
        break;
    case MD_SPAN_CODE:
        begin = "<code>";
        end = "</code>";
        break;
    case MD_SPAN_A:
        if (const QString link = allowedLink(textFrom(static_cast<MD_SPAN_A_DETAIL*>(detail)->href)); !link.isEmpty()) {
            begin = "<a href=\"" + link.toHtmlEscaped() + "\">";
            end = "</a>";
        }
        break;
    default: // a picture: its description is the text inside
        break;
    }
    if (m_spanEnds.size() >= kNestingMax)
        begin = end = QString();
    target() += begin;
    m_spanEnds.append(end);
    return 0;
}

int BlockWriter::leaveSpan(MD_SPANTYPE)
{
    target() += m_spanEnds.takeLast();
    return 0;
}

int BlockWriter::text(MD_TEXTTYPE type, const MD_CHAR* text, MD_SIZE size)
{
    MarkdownBlock& block = blocks.last();
    if (block.kind == MarkdownBlock::Kind::Code) {
        block.code += textFrom(text, size);
        return 0;
    }
    target() += std::exchange(m_taskMark, QString());
    switch (type) {
    case MD_TEXT_BR:
        target() += "<br>";
        break;
    case MD_TEXT_SOFTBR:
        target() += '\n';
        break;
    case MD_TEXT_NULLCHAR:
        target() += QChar::ReplacementCharacter;
        break;
    case MD_TEXT_ENTITY: // its form was checked by md4c; it can only become text
        target() += textFrom(text, size);
        break;
    default:
        target() += textFrom(text, size).toHtmlEscaped();
        break;
    }
    return 0;
}

constexpr unsigned kDialect = MD_DIALECT_GITHUB | MD_FLAG_NOHTML;

// What cannot be laid out safely is shown as it was written.
QList<MarkdownBlock> asPlainText(std::string_view utf8)
{
    MarkdownBlock block;
    block.kind = MarkdownBlock::Kind::Code;
    block.code = QString::fromUtf8(utf8.data(), static_cast<qsizetype>(utf8.size()));
    return {block};
}

} // namespace

QList<MarkdownBlock> parseMarkdown(std::string_view utf8)
{
    BlockWriter writer;
    MD_PARSER parser = {};
    parser.flags = kDialect;
    parser.enter_block = [](MD_BLOCKTYPE type, void* detail, void* self) {
        return static_cast<BlockWriter*>(self)->enterBlock(type, detail);
    };
    parser.leave_block = [](MD_BLOCKTYPE type, void*, void* self) {
        return static_cast<BlockWriter*>(self)->leaveBlock(type);
    };
    parser.enter_span = [](MD_SPANTYPE type, void* detail, void* self) {
        return static_cast<BlockWriter*>(self)->enterSpan(type, detail);
    };
    parser.leave_span = [](MD_SPANTYPE type, void*, void* self) {
        return static_cast<BlockWriter*>(self)->leaveSpan(type);
    };
    parser.text = [](MD_TEXTTYPE type, const MD_CHAR* text, MD_SIZE size, void* self) {
        return static_cast<BlockWriter*>(self)->text(type, text, size);
    };
    if (md_parse(utf8.data(), static_cast<MD_SIZE>(utf8.size()), &parser, &writer) != 0)
        return asPlainText(utf8);
    for (MarkdownBlock& block : writer.blocks) {
        if (block.kind == MarkdownBlock::Kind::Code && block.code.endsWith('\n'))
            block.code.chop(1);
    }
    return writer.blocks;
}

MarkdownOutline outlineMarkdown(std::string_view utf8)
{
    struct Walk {
        MarkdownOutline outline;
        int depth = 0;
    } walk;
    MD_PARSER parser = {};
    parser.flags = kDialect;
    parser.enter_block = [](MD_BLOCKTYPE type, void*, void* self) {
        auto& [outline, depth] = *static_cast<Walk*>(self);
        if (depth++ == 1) { // level 0 is the document
            ++outline.blockCount;
            outline.lastKind = kindOf(type);
        }
        return 0;
    };
    parser.leave_block = [](MD_BLOCKTYPE, void*, void* self) {
        --static_cast<Walk*>(self)->depth;
        return 0;
    };
    parser.enter_span = [](MD_SPANTYPE, void*, void*) { return 0; };
    parser.leave_span = [](MD_SPANTYPE, void*, void*) { return 0; };
    parser.text = [](MD_TEXTTYPE, const MD_CHAR*, MD_SIZE, void*) { return 0; };
    md_parse(utf8.data(), static_cast<MD_SIZE>(utf8.size()), &parser, &walk);
    return walk.outline;
}

} // namespace waste::app
