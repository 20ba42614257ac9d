#include "chat/text_lines.h"

#include <QTextBlock>
#include <QTextBlockFormat>
#include <QTextCursor>
#include <QTextDocument>

namespace waste::app {

void TextLines::setDocument(QQuickTextDocument* document)
{
    if (m_document == document)
        return;
    if (m_document != nullptr)
        m_document->textDocument()->disconnect(this);
    m_document = document;
    if (m_document != nullptr)
        connect(m_document->textDocument(), &QTextDocument::contentsChanged, this, &TextLines::apply);
    apply();
    Q_EMIT documentChanged();
}

void TextLines::setHeight(double height)
{
    if (m_height == height)
        return;
    m_height = height;
    apply();
    Q_EMIT heightChanged();
}

void TextLines::setIndent(double indent)
{
    if (m_indent == indent)
        return;
    m_indent = indent;
    apply();
    Q_EMIT indentChanged();
}

// A new text comes without the height; what is typed into it takes the height of the line before. So this
// finds something to do only after a text was set, when there is no history of changes yet that the
// change of format could get into.
void TextLines::apply()
{
    if (m_document == nullptr)
        return;
    QTextDocument& document = *m_document->textDocument();
    if (m_indent > 0 && document.indentWidth() != m_indent)
        document.setIndentWidth(m_indent);
    if (m_height <= 0)
        return;
    const auto lacksHeight = [this, &document] {
        QTextBlock block = document.begin();
        while (block.isValid() && block.blockFormat().lineHeight() == m_height)
            block = block.next();
        return block.isValid();
    };
    if (!lacksHeight())
        return;
    QTextBlockFormat format;
    format.setLineHeight(m_height, QTextBlockFormat::MinimumHeight);
    const bool hasHistory = document.isUndoRedoEnabled();
    document.setUndoRedoEnabled(false);
    // All of it at once: each change calls this function again.
    QTextCursor everything(&document);
    everything.select(QTextCursor::Document);
    everything.mergeBlockFormat(format);
    document.setUndoRedoEnabled(hasHistory);
}

} // namespace waste::app
