#pragma once

#include <QList>
#include <QString>
#include <QStringView>

namespace waste::app {

// A language as far as its colours need it. What is not said here is drawn as plain code.
struct CodeLanguage {
    const char* names; // in lower case, as they stand behind a fence, separated by blanks
    const char* keywords; // separated by blanks
    const char* lineComment = nullptr; // begins a comment up to the end of the line
    const char* blockBegin = nullptr; // of a comment over several lines
    const char* blockEnd = nullptr;
    const char* quotes = "\"'"; // each begins and ends a string
    const char* longQuotes = ""; // of those, which run over several lines; three in a row where `tripled`
    bool tripled = false;
    bool anyCase = false; // keywords may be written in capitals
};

// Null for a language that is not known.
const CodeLanguage* codeLanguage(const QString& name);

struct CodeToken {
    enum class Kind { Keyword, String, Number, Comment, Call };
    Kind kind = Kind::Keyword;
    int start = 0; // in UTF-16 units
    int length = 0;
    bool operator==(const CodeToken&) const = default;
};

// What a line inherits from the one before: 0 nothing, kInComment, or the quote of a string that is open.
constexpr int kInComment = 1;

// Colours of one line; takes time in proportion to its length whatever it holds.
QList<CodeToken> codeTokens(const CodeLanguage& language, QStringView line, int& state);

} // namespace waste::app
