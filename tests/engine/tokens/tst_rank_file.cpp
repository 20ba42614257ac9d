// The rank file: what a good one gives, and every kind of damage that must be refused.

#include "tokens/rank_file.h"

#include <QByteArray>
#include <QTest>

#include <fstream>
#include <iterator>
#include <random>

using namespace waste;

namespace {

std::string lineOf(std::string_view token, std::size_t rank)
{
    return QByteArray(token.data(), static_cast<qsizetype>(token.size())).toBase64().toStdString() + ' '
        + std::to_string(rank) + '\n';
}

std::string byteLines()
{
    std::string content;
    for (std::size_t byte = 0; byte < 256; ++byte)
        content += lineOf(std::string(1, static_cast<char>(byte)), byte);
    return content;
}

} // namespace

class TestRankFile : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void readsTheFileOfTheBuiltInModel()
    {
        std::ifstream file(WASTE_K3_MINI_CHECKPOINT "/tokenizer.model", std::ios::binary);
        const std::string content{std::istreambuf_iterator<char>(file), {}};
        const auto vocabulary = parseRankFile(content, "tokenizer.model");
        QVERIFY(vocabulary);
        QCOMPARE(vocabulary->count(), std::size_t{2816});
        for (TokenId id = 0; id < 2816; ++id)
            QCOMPARE(*vocabulary->find(vocabulary->bytes(id)), id);
        QVERIFY(!vocabulary->find("no such token"));
        QVERIFY(!vocabulary->find(""));
    }

    void lineEndsEmptyLinesAndOrderDoNotMatter()
    {
        std::string content = "\n\r\n" + lineOf("ab", 256) + "\r\n" + byteLines();
        for (std::size_t i = content.find("\n", 20); i < 200; i = content.find("\n", i + 2))
            content.insert(i, "\r");
        content.pop_back(); // no line end after the last line
        const auto vocabulary = parseRankFile(content, "tokenizer.model");
        QVERIFY2(vocabulary, vocabulary ? "" : vocabulary.error().message.c_str());
        QCOMPARE(*vocabulary->find("ab"), 256);
        QCOMPARE(std::string(vocabulary->bytes(256)), std::string("ab"));
    }

    void aTokenMayBeLong()
    {
        const std::string token(65535, 'x');
        const auto vocabulary = parseRankFile(byteLines() + lineOf(token, 256), "f");
        QCOMPARE(*vocabulary->find(token), 256);
        QVERIFY(!parseRankFile(byteLines() + lineOf(token + 'x', 256), "f"));
    }

    void refusesDamage_data()
    {
        QTest::addColumn<QByteArray>("content");
        QTest::addColumn<QString>("place");
        const auto row = [](const char* name, const std::string& content, const char* place) {
            QTest::newRow(name) << QByteArray::fromStdString(content) << place;
        };
        const std::string bytes = byteLines();
        row("empty", "", "not every single byte");
        row("a byte is missing", bytes.substr(0, bytes.rfind('\n', bytes.size() - 2) + 1), "not every single byte");
        row("one field", bytes + "YWI=\n", "line 257");
        row("no token", bytes + " 256\n", "line 257");
        row("no rank", bytes + "YWI= \n", "line 257");
        row("three fields", bytes + "YWI= 256 1\n", "line 257");
        row("two blanks", bytes + "YWI=  256\n", "line 257");
        row("a tab", bytes + "YWI=\t256\n", "line 257");
        row("a blank behind", bytes + "YWI= 256 \n", "line 257");
        row("a carriage return alone", bytes + "YWI= 256\rYWM= 257\n", "line 257");
        row("foreign character", bytes + "YW-= 256\n", "line 257");
        row("missing padding", bytes + "YWI 256\n", "line 257");
        row("padding inside", bytes + "YQ==YQ== 256\n", "line 257");
        row("only padding", bytes + "==== 256\n", "line 257");
        row("bits behind the last byte", bytes + "YWJ= 256\n", "line 257");
        row("rank with a leading zero", bytes + "YWI= 0256\n", "line 257");
        row("rank with a sign", bytes + "YWI= +256\n", "line 257");
        row("negative rank", bytes + "YWI= -256\n", "line 257");
        row("rank in hexadecimal", bytes + "YWI= 0x100\n", "line 257");
        row("rank with a fraction", bytes + "YWI= 256.0\n", "line 257");
        row("rank of 2^21", bytes + "YWI= 2097152\n", "line 257");
        row("rank beyond 32 bits", bytes + "YWI= 4294967552\n", "line 257");
        row("token twice", bytes + lineOf("ab", 256) + lineOf("ab", 257), "line 258");
        row("rank twice", bytes + lineOf("ab", 256) + lineOf("ac", 256), "line 258");
        row("gap", bytes + lineOf("ab", 257), "gaps");
        row("NUL bytes", bytes + std::string(8, '\0'), "line 257");
    }
    void refusesDamage()
    {
        QFETCH(QByteArray, content);
        QFETCH(QString, place);
        const auto vocabulary = parseRankFile(content.toStdString(), "somewhere/tokenizer.model");
        QVERIFY(!vocabulary);
        QCOMPARE(vocabulary.error().code, ErrorCode::Corrupt);
        const QString message = QString::fromStdString(vocabulary.error().message);
        QVERIFY2(message.startsWith("somewhere/tokenizer.model") && message.contains(place), qPrintable(message));
    }

    void aFileOfEmptyLinesTakesNoMemoryForThem()
    {
        QVERIFY(!parseRankFile(std::string(kRankFileBytesMax, '\n'), "f"));
        QVERIFY(!parseRankFile(std::string(kRankFileBytesMax + 1, '\n'), "f"));
    }

    void anyMutationIsReadOrRefused()
    {
        std::mt19937 random(17);
        const std::string good = byteLines() + lineOf("ab", 256) + lineOf("abc", 257);
        for (int round = 0; round < 1000; ++round) {
            std::string content = good;
            for (unsigned i = 0; i <= random() % 3; ++i)
                content[random() % content.size()] = static_cast<char>(random());
            if (random() % 4 == 0)
                content.resize(random() % content.size());
            const auto vocabulary = parseRankFile(content, "f");
            if (vocabulary)
                QCOMPARE(vocabulary->count(), vocabulary->rankEnd());
        }
    }
};

QTEST_APPLESS_MAIN(TestRankFile)
#include "tst_rank_file.moc"
