// What stays in memory is checked whenever a model is opened, asked for or not: a flipped bit there would be in
// every token.

#include "session_fixture.h"
#include "support/damage.h"
#include "support/safetensors_writer.h"

#include <QTemporaryDir>

using namespace waste;
using namespace waste::test;

class TestDamagedModel : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aFlippedBitOfResidentWeightsIsRefused_data()
    {
        QTest::addColumn<QString>("file");
        QTest::addColumn<bool>("verifyRecords");
        for (const char* file : {"trunk.bin", "codebooks.bin"}) {
            QTest::addRow("%s", file) << file << false;
            QTest::addRow("%s, records verified as well", file) << file << true;
        }
    }
    void aFlippedBitOfResidentWeightsIsRefused()
    {
        QFETCH(const QString, file);
        QFETCH(const bool, verifyRecords);
        const QTemporaryDir folder;
        const std::filesystem::path model = folder.path().toStdString();
        QVERIFY(copyGolden("kl-vq4p-mixed", model));
        EngineOptions options;
        options.contextTokens = 64;
        options.threadCount = 1;
        options.verifyRecords = verifyRecords;
        WASTE_VERIFY_OK(Engine::open(*Container::open(model), options));

        // The lowest bit of a value in the middle: it stays a number, and nothing else tells.
        const std::filesystem::path path = model / file.toStdString();
        std::vector<std::byte> bytes = readBytes(path);
        bytes[bytes.size() / 4 * 2 + 200] ^= std::byte{1};
        writeBytes(path, bytes);
        const Result<std::unique_ptr<Engine>> refused = Engine::open(*Container::open(model), options);
        QVERIFY(!refused.has_value());
        QCOMPARE(refused.error().code, ErrorCode::Corrupt);
        QCOMPARE(refused.error().reason, std::string("checksum"));
        QVERIFY2(
            refused.error().message.find(file.toStdString()) != std::string::npos, refused.error().message.c_str());
    }
};

QTEST_APPLESS_MAIN(TestDamagedModel)
#include "tst_damaged_model.moc"
