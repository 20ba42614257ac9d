// What the model saw of a picture, kept on disk: read back exactly, and believed only if nothing about it is wrong.

#include "host/rows_file.h"
#include "waste/files.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <cmath>
#include <limits>

using namespace waste;
using namespace waste::host;

namespace {

const RowsKey kKey{std::string(64, 'a'), false, "tower"};

std::vector<float> someRows()
{
    std::vector<float> rows(300);
    for (std::size_t i = 0; i < rows.size(); ++i)
        rows[i] = std::sin(static_cast<float>(i)) * 3;
    return rows;
}

} // namespace

class TestRowsFile : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;
    std::filesystem::path file() const { return m_folder.filePath("picture.rows").toStdString(); }

private Q_SLOTS:
    void init() { QVERIFY(saveRows(file(), kKey, someRows())); }

    void comesBackAsItWas()
    {
        const auto rows = loadRows(file(), kKey, 300);
        QVERIFY(rows);
        QVERIFY(*rows == someRows());
    }

    void belongsToOnePictureOneDetailAndOneTower()
    {
        RowsKey other = kKey;
        other.content.back() = 'b';
        QVERIFY(!loadRows(file(), other, 300));
        other = kKey;
        other.half = true;
        QVERIFY(!loadRows(file(), other, 300));
        other = kKey;
        other.tower = "another";
        QVERIFY(!loadRows(file(), other, 300));
    }

    void anotherNumberOfRowsIsNotRead()
    {
        for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{299}, std::uint64_t{301},
                 std::uint64_t{1} << 40, std::numeric_limits<std::uint64_t>::max()})
            QVERIFY(!loadRows(file(), kKey, count));
    }

    // Every byte of the header, and some of the rows.
    void aChangedByteIsSeen()
    {
        const auto whole = readFile(file(), 1 << 20);
        QVERIFY(whole);
        for (std::size_t at = 0; at < whole->size(); at += at < 150 ? 1 : 37) {
            std::string changed = *whole;
            changed[at] = static_cast<char>(changed[at] ^ 1);
            QVERIFY(replaceFile(file(), changed));
            const auto rows = loadRows(file(), kKey, 300);
            QVERIFY2(!rows, qPrintable(QString::number(at)));
            QCOMPARE(rows.error().code, ErrorCode::Corrupt);
        }
        for (const std::size_t size : {std::size_t{0}, std::size_t{10}, whole->size() - 1}) {
            QVERIFY(replaceFile(file(), whole->substr(0, size)));
            QVERIFY(!loadRows(file(), kKey, 300));
        }
        QVERIFY(replaceFile(file(), *whole + "x"));
        QVERIFY(!loadRows(file(), kKey, 300));
    }

    // Somebody who knows how the checksum is made can write anything, but nothing that is no number.
    void numbersMustBeFinite()
    {
        for (const float value : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
            std::vector<float> rows = someRows();
            rows[17] = value;
            QVERIFY(saveRows(file(), kKey, rows));
            QVERIFY(!loadRows(file(), kKey, 300));
        }
    }

    void nothingThereIsNoSurprise()
    {
        QCOMPARE(loadRows(m_folder.filePath("missing").toStdString(), kKey, 300).error().code, ErrorCode::NotFound);
    }
};

QTEST_GUILESS_MAIN(TestRowsFile)
#include "tst_rows_file.moc"
