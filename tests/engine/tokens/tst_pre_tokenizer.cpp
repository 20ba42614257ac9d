// The cuts before byte pairs are merged: the examples of the specification, and random strings against
// PCRE2 running the release's pattern.

#include "base/utf8.h"
#include "tokens/outer_cuts.h"
#include "tokens/pre_tokenizer.h"

#include <QTest>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <unicode/uchar.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

using namespace waste;

namespace {

using Pieces = std::vector<std::string>;

Pieces piecesOf(std::string_view text)
{
    Pieces pieces;
    PreTokenizer scan(text);
    while (const auto piece = scan.next())
        pieces.emplace_back(*piece);
    return pieces;
}

std::vector<std::size_t> partLengths(std::string_view text)
{
    std::vector<std::size_t> lengths;
    OuterCuts cuts(text);
    while (const auto part = cuts.next())
        lengths.push_back(part->size());
    return lengths;
}

// The release's pattern for PCRE2 10.42: Script in place of Script_Extensions, look-aheads in place of
// class intersection, and the 25 white-space characters spelled out, since \s has one more there.
class Pattern {
public:
    Pattern()
    {
        const std::string space =
            R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
        const std::string upper = R"((?:(?!\p{sc:Han})[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]))";
        const std::string lower = R"((?:(?!\p{sc:Han})[\p{Ll}\p{Lm}\p{Lo}\p{M}]))";
        const std::string prefix = R"([^\r\n\p{L}\p{N}]?)";
        const std::string contraction = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?";
        const std::string pattern = R"(\p{sc:Han}+|)" + prefix + upper + '*' + lower + '+' + contraction + '|' + prefix
            + upper + '+' + lower + '*' + contraction + R"(|\p{N}{1,3}| ?[^)" + space + R"(\p{L}\p{N}]+[\r\n]*|[)"
            + space + R"(]*[\r\n]+|[)" + space + "]+(?![^" + space + "])|[" + space + "]+";
        int error = 0;
        PCRE2_SIZE offset = 0;
        m_code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.c_str()), PCRE2_ZERO_TERMINATED,
            PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr));
        m_match.reset(pcre2_match_data_create_from_pattern(m_code.get(), nullptr));
    }

    Pieces operator()(const std::string& text) const
    {
        Pieces pieces;
        std::size_t offset = 0;
        while (offset < text.size()) {
            const int found = pcre2_match(m_code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), offset,
                PCRE2_ANCHORED, m_match.get(), nullptr);
            if (found < 1)
                return {"no match"};
            const std::size_t end = pcre2_get_ovector_pointer(m_match.get())[1];
            pieces.push_back(text.substr(offset, end - offset));
            offset = end;
        }
        return pieces;
    }

private:
    struct Free {
        void operator()(pcre2_code* code) const { pcre2_code_free(code); }
        void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
    };
    std::unique_ptr<pcre2_code, Free> m_code;
    std::unique_ptr<pcre2_match_data, Free> m_match;
};

} // namespace

class TestPreTokenizer : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void cutsTheExamplesOfTheSpecification_data()
    {
        QTest::addColumn<QStringList>("pieces");
        int number = 0;
        const auto row = [&](const QStringList& pieces) {
            QTest::addRow("%d: %s", ++number, qPrintable(pieces.join("").simplified())) << pieces;
        };
        row({"Hello", ",", " world", "!"});
        row({"Hello", "World"});
        row({"camel", "Case"});
        row({"HTMLParser"});
        row({"XMLHttp", "Request", "2"});
        row({"snake", "_case"});
        row({"don't", " DON'T", " can", "’t"});
        row({"it'ſ"});
        row({"1", "'s"});
        row({"123", "45", " ", "007", " ", "1", ",", "234", ".", "56"});
        row({"½Ⅷ٣", "1"});
        row({" ", " a", "\n\n", " b", "  "});
        row({"x", "\n", " ", " y"});
        row({"\t", "\tif", " (", "a", ")", " {\r\n"});
        row({"end", ".\n\n\n", "Next"});
        row({"\n \n"});
        row({" ", "中文"});
        row({"中文字", "。", "日本語", "です"});
        row({"A", "中", "B"});
        row({"中", "A's"});
        row({"1〇〇", "〇"});
        row({"中⺀"});
        row({"!⺀"});
        row({" ⺀", "x"});
        row({"x", "々", "y"});
        row({"ABC한국", "DEF"});
        row({"e\u0301te\u0301"});
        row({"!\u0301"});
        row({"!!\u0301"});
        row({"😀👍🏽", " ok"});
        row({"<|", "open", "|>", "message", " role", "=\"", "user", "\"<|", "sep", "|>"});
        row({"\u001C\u001C", " a"});
        row({"a", "\u0085b"});
        row({"I'LL", " they'Ve", " we'd", "'x"});
    }
    void cutsTheExamplesOfTheSpecification()
    {
        QFETCH(QStringList, pieces);
        Pieces expected;
        for (const QString& piece : pieces)
            expected.push_back(piece.toStdString());
        QCOMPARE(piecesOf(pieces.join("").toStdString()), expected);
        QCOMPARE(Pattern()(pieces.join("").toStdString()), expected);
    }

    void agreesWithThePatternOnRandomText()
    {
        const Pieces atoms{" ", "  ", "\n", "\r", "\r\n", "\t", "\u0085", "\u00A0", "\u1680", "\u180E", "\u200B",
            "\u2028", "\u3000", "\uFEFF", "\u001C", "a", "b", "z", "A", "Z", "ß", "É", "ǅ", "ʰ", "ª", "İ", "ſ", "K",
            "\u0301", "\u0903", "\u20DD", "'", "’", "'s", "'T", "'re", "'VE", "'ll", "'ſ", "0", "7", "½", "Ⅷ", "٣",
            "０", "〇", "々", "中", "文", "⺀", "、", "。", "ー", "ア", "の", "한", "ش", "ก", "ა", "Ꭰ", "ꭰ", "क", "्",
            "-", "_", ".", "!", "<|", "|>", "\"", "$", "€", "😀", "🏽", "\U000E0061", "\U0001D400", "\U00020000",
            "\uE000"};
        const Pattern pattern;
        std::mt19937 random(1);
        for (int round = 0; round < 20000; ++round) {
            std::string text;
            const std::size_t count = 1 + random() % 12;
            for (std::size_t i = 0; i < count; ++i)
                text += atoms[random() % atoms.size()];
            QVERIFY2(piecesOf(text) == pattern(text), text.c_str());
        }
    }

    // Every character in a word, after a blank and before a digit. Those that came after Unicode 14 stay
    // out: the PCRE2 of Debian 12 does not know them.
    void agreesWithThePatternOnEveryCharacter()
    {
        const Pattern pattern;
        for (char32_t codePoint = 1; codePoint <= 0x10FFFF; ++codePoint) {
            UVersionInfo age;
            u_charAge(static_cast<UChar32>(codePoint), age);
            const bool isSurrogate = codePoint >= 0xD800 && codePoint < 0xE000;
            const bool isExtensionI = codePoint >= 0x2EBF0 && codePoint <= 0x2EE5D;
            if (age[0] == 0 || age[0] > 14 || isSurrogate || isExtensionI)
                continue;
            std::string c;
            appendUtf8(c, codePoint);
            const std::string text = "Aa" + c + "Aa " + c + "1" + c + c + "\n";
            QVERIFY2(piecesOf(text) == pattern(text), qPrintable(QString::number(codePoint, 16)));
        }
    }

    void lettersOfExtensionIAreHan() { QCOMPARE(piecesOf("x\U0002EBF0\U0002EE5Dy").size(), std::size_t{3}); }

    void bytesOutsideCharactersArePunctuation()
    {
        QCOMPARE(piecesOf("\xFF\xFE!"), (Pieces{"\xFF\xFE!"}));
        QCOMPARE(piecesOf("a\xC3"), (Pieces{"a", "\xC3"}));
        QCOMPARE(piecesOf("\xE4\xB8 "), (Pieces{"\xE4\xB8", " "}));
        QCOMPARE(piecesOf(std::string_view("\0a", 2)), (Pieces{std::string("\0a", 2)}));
    }

    void veryLongTextsAreCutWhereTheReleaseCutsThem()
    {
        QCOMPARE(partLengths(""), std::vector<std::size_t>{});
        QCOMPARE(partLengths(std::string(25000, 'a')), std::vector<std::size_t>{25000});
        QCOMPARE(partLengths(std::string(25001, 'a')), (std::vector<std::size_t>{25000, 1}));
        QCOMPARE(partLengths(std::string(20000, 'a') + std::string(25001, ' ')), (std::vector<std::size_t>{45000, 1}));
        // U+001C is blank here and only here: it continues the run of blanks.
        std::string blanks(24999, ' ');
        blanks.append("\x1C ");
        QCOMPARE(partLengths(blanks), (std::vector<std::size_t>{25000, 1}));
        std::string words;
        for (int i = 0; i < 200'001; ++i)
            words += "a ";
        QCOMPARE(partLengths(words), (std::vector<std::size_t>{400'000, 2}));
        // The run is counted anew after the cut of the whole.
        std::string tail = words.substr(0, 399'999) + std::string(25'001, 'a');
        QCOMPARE(partLengths(tail), (std::vector<std::size_t>{400'000, 25'000}));
        std::string han;
        for (int i = 0; i < 25'001; ++i)
            han += "中";
        QCOMPARE(partLengths(han), (std::vector<std::size_t>{75'000, 3}));
        QCOMPARE(partLengths(std::string(25'001, '\xFF')), (std::vector<std::size_t>{25'000, 1}));
    }
};

QTEST_APPLESS_MAIN(TestPreTokenizer)
#include "tst_pre_tokenizer.moc"
