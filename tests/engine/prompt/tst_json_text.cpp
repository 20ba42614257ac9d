// Our JSON reader and writer: limits, refusals, and agreement with the JSON library wherever both apply.

#include "prompt/json_number.h"
#include "prompt/json_text.h"
#include "support/cpu_time.h"

#include <nlohmann/json.hpp>

#include <QTest>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <random>

using namespace waste;

namespace {

std::string compact(std::string_view text, JsonDialect dialect = JsonDialect::Lenient)
{
    const auto value = parseJson(text, dialect);
    return value ? writeJson(*value, JsonStyle::Compact) : "refused";
}

std::string nested(std::size_t depth, char open, char close)
{
    return std::string(depth, open) + std::string(depth, close);
}

} // namespace

class TestJsonText : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void writesBothStyles()
    {
        const auto value = parseJson(R"( { "b" : [ 1 , true , null ] , "a" : { } , "c":[] } )");
        QVERIFY(value);
        QCOMPARE(writeJson(*value, JsonStyle::Compact), std::string("{\"b\":[1,true,null],\"a\":{},\"c\":[]}"));
        QCOMPARE(writeJson(*value, JsonStyle::Spaced), std::string("{\"b\": [1, true, null], \"a\": {}, \"c\": []}"));
        QCOMPARE(
            writeJson(sortedByKey(*value), JsonStyle::Compact), std::string("{\"a\":{},\"b\":[1,true,null],\"c\":[]}"));
    }

    void refusesWhatIsNoJson_data()
    {
        QTest::addColumn<QByteArray>("text");
        for (const char* text :
            {"", " ", "{", "}", "[", "]", "{]", "[1,]", "[,1]", "[1 2]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,}",
                "{a:1}", "{1:1}", "'a'", "\"", "\"a", "\"\\", "\"\\q\"", "\"\\u12\"", "\"\\u12g4\"", "\"\t\"", "tru",
                "nul", "TRUE", "01", "-", "+1", "1.", ".1", "1e", "1e+", "0x1", "--1", "1 2", "nan", "-NaN", "infinity",
                "\xEF\xBB\xBF{}", "\"\xFF\"", "\"\xED\xA0\x80\"", "/**/1", "#\n1", "\v1", "\xC2\xA0\x31"})
            QTest::addRow("%s", QByteArray(text).toPercentEncoding().constData()) << QByteArray(text);
        QTest::newRow("NUL behind the end") << QByteArray("1\0", 2);
        QTest::newRow("NUL alone") << QByteArray("\0", 1);
    }
    void refusesWhatIsNoJson()
    {
        QFETCH(QByteArray, text);
        for (const JsonDialect dialect : {JsonDialect::Strict, JsonDialect::Lenient}) {
            const auto value = parseJson(text.toStdString(), dialect);
            QVERIFY(!value);
            QCOMPARE(value.error().code, ErrorCode::InvalidArgument);
        }
    }

    void theStrictDialectKnowsNoInfinity()
    {
        for (const char* text : {"NaN", "Infinity", "-Infinity", "1e400", "-1e400", "[1,NaN]"}) {
            QVERIFY(parseJson(text, JsonDialect::Lenient));
            QVERIFY(!parseJson(text, JsonDialect::Strict));
        }
        QVERIFY(parseJson("1e308", JsonDialect::Strict));
        QVERIFY(parseJson(std::string(308, '9'), JsonDialect::Strict));
        QVERIFY(!parseJson(std::string(400, '9'), JsonDialect::Strict));
        QCOMPARE(compact(std::string(400, '9')), std::string(400, '9'));
        QCOMPARE(compact("1e-400", JsonDialect::Strict), std::string("0.0"));
        QCOMPARE(compact("0e999999999999999999999", JsonDialect::Strict), std::string("0.0"));
        QCOMPARE(compact("0." + std::string(500, '0') + "1e510"), std::string("1000000000.0"));
        QCOMPARE(compact("1" + std::string(500, '0') + "e-510"), std::string("1e-10"));
    }

    void depthAndSizeAreLimited()
    {
        QVERIFY(parseJson(nested(256, '[', ']')));
        for (const std::string& text : {nested(257, '[', ']'), std::string(1'000'000, '[')}) {
            const auto value = parseJson(text);
            QVERIFY(!value);
            QCOMPARE(value.error().reason, std::string("too_large"));
        }
        std::string objects;
        for (int i = 0; i < 257; ++i)
            objects += "{\"a\":";
        QVERIFY(!parseJson(objects + "1" + std::string(257, '}')));
        std::string siblings = "[";
        for (int i = 0; i < 1000; ++i)
            siblings += "[[]],";
        QVERIFY(parseJson(siblings + "1]"));
        std::string many = "[";
        for (std::size_t i = 0; i < kJsonValuesMax; ++i)
            many += "0,";
        QCOMPARE(parseJson(many + "0]").error().reason, std::string("too_large"));
    }

    void manyRepeatedKeysTakeLinearTime()
    {
        std::string text = "{";
        for (int i = 0; i < 200'000; ++i)
            text += "\"k" + std::to_string(i % 1000) + "\":" + std::to_string(i) + ',';
        const test::CpuTimer timer;
        const auto value = parseJson(text + "\"end\":0}");
        QVERIFY(value);
        QCOMPARE(value->members.size(), std::size_t{1001});
        QCOMPARE(value->find("k7")->text, std::string("199007"));
        QCOMPARE(value->members[7].key, std::string("k7"));
        QVERIFY(timer.seconds() < 5);
    }

    void nullMembersCountAsAbsent()
    {
        const auto value = parseJson(R"({"a": null, "b": 0})");
        QVERIFY(value->find("a") == nullptr);
        QVERIFY(value->find("b") != nullptr);
        QVERIFY(value->find("c") == nullptr);
        QVERIFY(parseJson("[]")->find("a") == nullptr);
    }

    void numbersReadBackTheSame()
    {
        std::mt19937_64 random(29);
        for (int round = 0; round < 100'000; ++round) {
            const auto value = std::bit_cast<double>(random());
            if (!std::isfinite(value))
                continue;
            const std::string text = jsonNumber(value);
            QVERIFY(std::bit_cast<std::uint64_t>(std::strtod(text.c_str(), nullptr))
                == std::bit_cast<std::uint64_t>(value));
            QCOMPARE(jsonNumberLength(text), text.size());
            QCOMPARE(compact(text), text);
            const double size = std::abs(value);
            const bool isFixed = size >= 1e-4 && size < 1e16;
            QCOMPARE(text.find('e') == std::string::npos, isFixed);
        }
    }

    void agreesWithTheLibraryOnRandomDocuments()
    {
        const std::vector<std::string> atoms{"{", "}", "[", "]", ",", ":", "\"a\"", "\"b\"", "1", "-2", "1.5", "1e3",
            "true", "false", "null", " ", "\"\\n\"", "\"\\u00e9\"", "0", "01", "\"", "\\"};
        std::mt19937 random(31);
        int accepted = 0;
        for (int round = 0; round < 300'000; ++round) {
            std::string text;
            const std::size_t count = 1 + random() % 9;
            for (std::size_t i = 0; i < count; ++i)
                text += atoms[random() % atoms.size()];
            const auto value = parseJson(text, JsonDialect::Strict);
            QVERIFY2(value.has_value() == nlohmann::json::accept(text), text.c_str());
            if (!value)
                continue;
            ++accepted;
            const std::string written = writeJson(*value, JsonStyle::Spaced);
            QVERIFY2(nlohmann::json::parse(written) == nlohmann::json::parse(text), text.c_str());
            QCOMPARE(compact(written), writeJson(*value, JsonStyle::Compact));
        }
        QVERIFY(accepted > 10'000);
    }
};

QTEST_APPLESS_MAIN(TestJsonText)
#include "tst_json_text.moc"
