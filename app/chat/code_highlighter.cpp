#include "chat/code_highlighter.h"

#include "chat/code_tokens.h"

#include <QSyntaxHighlighter>
#include <QTextDocument>

#include <algorithm>

namespace waste::app {

namespace {

constexpr int kLineCharactersMax = 4000; // longer ones are data and no code that somebody reads

} // namespace

class CodeHighlighter::Painter : public QSyntaxHighlighter {
public:
    Painter(QTextDocument* document, const CodeHighlighter& owner)
        : QSyntaxHighlighter(document)
        , m_owner(&owner)
    {
    }

protected:
    void highlightBlock(const QString& line) override
    {
        int state = std::max(0, previousBlockState());
        const CodeLanguage* language = m_owner != nullptr ? codeLanguage(m_owner->m_language) : nullptr;
        if (language != nullptr && line.size() <= kLineCharactersMax) {
            for (const CodeToken& token : codeTokens(*language, line, state))
                setFormat(token.start, token.length, colourOf(token.kind));
        }
        setCurrentBlockState(state);
    }

private:
    [[nodiscard]] QColor colourOf(CodeToken::Kind kind) const
    {
        switch (kind) {
        case CodeToken::Kind::Keyword:
            return m_owner->m_keyword;
        case CodeToken::Kind::String:
            return m_owner->m_string;
        case CodeToken::Kind::Number:
            return m_owner->m_number;
        case CodeToken::Kind::Comment:
            return m_owner->m_comment;
        case CodeToken::Kind::Call:
            break;
        }
        return m_owner->m_call;
    }

    const QPointer<const CodeHighlighter> m_owner;
};

CodeHighlighter::CodeHighlighter(QObject* parent)
    : QObject(parent)
{
    connect(this, &CodeHighlighter::coloursChanged, this, [this] {
        if (m_painter != nullptr)
            m_painter->rehighlight();
    });
}

CodeHighlighter::~CodeHighlighter() = default;

void CodeHighlighter::setDocument(QQuickTextDocument* document)
{
    if (m_document == document)
        return;
    delete m_painter;
    m_document = document;
    if (m_document != nullptr)
        m_painter = new Painter(m_document->textDocument(), *this);
    Q_EMIT documentChanged();
}

void CodeHighlighter::setLanguage(const QString& language)
{
    if (m_language == language)
        return;
    m_language = language;
    if (m_painter != nullptr)
        m_painter->rehighlight();
    Q_EMIT languageChanged();
}

} // namespace waste::app
