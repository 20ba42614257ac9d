#include "chat/code_tokens.h"

#include <QSet>

#include <map>

namespace waste::app {

namespace {

// Sets of words are made once a language. GUI thread only, as everything that draws.
const QSet<QString>& keywordsOf(const CodeLanguage& language)
{
    static std::map<const CodeLanguage*, QSet<QString>> sets;
    const auto [entry, isNew] = sets.try_emplace(&language);
    if (isNew) {
        for (const QString& word : QString::fromLatin1(language.keywords).split(' ', Qt::SkipEmptyParts))
            entry->second.insert(word);
    }
    return entry->second;
}

bool isWordCharacter(QChar c)
{
    return c.isLetterOrNumber() || c == '_';
}

// Reads one line from its begin to its end; every step goes forward.
class LineReader {
public:
    LineReader(const CodeLanguage& language, QStringView line, int& state)
        : m_language(language)
        , m_line(line)
        , m_state(state)
    {
    }

    QList<CodeToken> read()
    {
        if (m_state == kInComment && m_language.blockEnd != nullptr)
            readComment(0);
        else if (m_state != 0)
            readString(0, QChar(static_cast<char16_t>(m_state)), true);
        while (m_place < m_line.size())
            readNext();
        return std::move(m_tokens);
    }

private:
    void readNext()
    {
        const QChar c = m_line[m_place];
        if (startsWith(m_language.lineComment)) {
            add(CodeToken::Kind::Comment, m_place, m_line.size());
        } else if (startsWith(m_language.blockBegin)) {
            readComment(QLatin1StringView(m_language.blockBegin).size());
        } else if (QLatin1StringView(m_language.quotes).contains(c)) {
            const bool isLong = QLatin1StringView(m_language.longQuotes).contains(c)
                && (!m_language.tripled || m_line.sliced(m_place).startsWith(QString(3, c)));
            readString(isLong && m_language.tripled ? 3 : 1, c, isLong);
        } else if (c.isDigit()) {
            readNumber();
        } else if (isWordCharacter(c) || c == '#') {
            readWord();
        } else {
            ++m_place;
        }
    }

    void readComment(qsizetype openingLength)
    {
        const QLatin1StringView closing(m_language.blockEnd);
        const qsizetype end = m_line.indexOf(closing, m_place + openingLength);
        m_state = end < 0 ? kInComment : 0;
        add(CodeToken::Kind::Comment, m_place, end < 0 ? m_line.size() : end + closing.size());
    }

    // `isLong`: what is not closed here goes on in the next line.
    void readString(qsizetype openingLength, QChar quote, bool isLong)
    {
        const qsizetype closingLength = isLong && m_language.tripled ? 3 : 1;
        qsizetype end = m_place + openingLength;
        qsizetype quotes = 0; // in a row
        while (end < m_line.size() && quotes < closingLength) {
            quotes = m_line[end] == quote ? quotes + 1 : 0;
            end += m_line[end] == '\\' ? 2 : 1;
        }
        m_state = isLong && quotes < closingLength ? quote.unicode() : 0;
        add(CodeToken::Kind::String, m_place, qMin(end, m_line.size()));
    }

    void readNumber()
    {
        qsizetype end = m_place;
        while (end < m_line.size() && (isWordCharacter(m_line[end]) || m_line[end] == '.'))
            ++end;
        add(CodeToken::Kind::Number, m_place, end);
    }

    void readWord()
    {
        qsizetype end = m_place + 1;
        while (end < m_line.size() && isWordCharacter(m_line[end]))
            ++end;
        const QString word = m_line.sliced(m_place, end - m_place).toString();
        if (keywordsOf(m_language).contains(m_language.anyCase ? word.toLower() : word))
            add(CodeToken::Kind::Keyword, m_place, end);
        else if (end < m_line.size() && m_line[end] == '(')
            add(CodeToken::Kind::Call, m_place, end);
        m_place = end;
    }

    [[nodiscard]] bool startsWith(const char* mark) const
    {
        return mark != nullptr && m_line.sliced(m_place).startsWith(QLatin1StringView(mark));
    }

    void add(CodeToken::Kind kind, qsizetype start, qsizetype end)
    {
        if (end > start) // an empty line goes on with what is open and has nothing to colour
            m_tokens.append({kind, static_cast<int>(start), static_cast<int>(end - start)});
        m_place = end;
    }

    const CodeLanguage& m_language;
    const QStringView m_line;
    int& m_state;
    qsizetype m_place = 0;
    QList<CodeToken> m_tokens;
};

} // namespace

QList<CodeToken> codeTokens(const CodeLanguage& language, QStringView line, int& state)
{
    return LineReader(language, line, state).read();
}

} // namespace waste::app
