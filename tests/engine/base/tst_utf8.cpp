// UTF-8 against the examples of Unicode 3.9 and against every code point.

#include "base/utf8.h"

#include <QTest>

using namespace waste;

namespace {

std::string repaired(std::string_view bytes)
{
    std::string text;
    if (appendWellFormed(text, bytes) != 0)
        text += kReplacementCharacter;
    return text;
}

} // namespace

class TestUtf8 : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyCodePointIsOneStep()
    {
        for (char32_t codePoint = 0; codePoint <= 0x10FFFF; ++codePoint) {
            if (codePoint == 0xD800)
                codePoint = 0xE000;
            std::string bytes;
            appendUtf8(bytes, codePoint);
            const Utf8Step step = utf8StepAt(bytes, 0);
            QVERIFY(step.kind == Utf8Step::Kind::Character && step.length == bytes.size());
            QCOMPARE(step.codePoint, codePoint);
            for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
                const Utf8Step part = utf8StepAt(std::string_view(bytes).substr(0, cut), 0);
                QVERIFY(part.kind == Utf8Step::Kind::Cut && part.length == cut);
            }
        }
    }

    void surrogatesAndOverlongFormsAreIllFormed()
    {
        for (const std::string_view bytes : {"\xED\xA0\x80", "\xED\xBF\xBF", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80",
                 "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\x80", "\xBF"}) {
            QVERIFY(!isWellFormedUtf8(bytes));
            QVERIFY(utf8StepAt(bytes, 0).kind == Utf8Step::Kind::IllFormed);
        }
        QVERIFY(isWellFormedUtf8(""));
        QVERIFY(isWellFormedUtf8("aé漢🎉"));
    }

    // The examples of Unicode 15, tables 3-8 to 3-11.
    void everyMaximalSubpartBecomesOneReplacement()
    {
        const std::string r(kReplacementCharacter);
        QCOMPARE(repaired("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"), r + r + r + r + r + r + r + r + "A");
        QCOMPARE(repaired("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"), r + r + r + r + r + r + r + r + "A");
        QCOMPARE(repaired("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"), r + r + r + r + r + "A" + r + r + "B");
        QCOMPARE(repaired("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), r + r + r + r + "A");
        QCOMPARE(repaired("a\xE2\x82"), "a" + r);
    }
};

QTEST_APPLESS_MAIN(TestUtf8)
#include "tst_utf8.moc"
