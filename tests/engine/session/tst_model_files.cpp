// What is told about a model before any of its weights is read.

#include "session_fixture.h"

using namespace waste;
using namespace waste::test;

class TestModelFiles : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void tellsTheFactsOfAPublishedModel()
    {
        const ModelInfo& info = openModel("k3-mini")->info();
        QCOMPARE(info.format, ModelInfo::Format::Checkpoint);
        QCOMPARE(info.name, std::string("k3-mini"));
        QCOMPARE(info.architecture, std::string("kimi-k3"));
        QCOMPARE(info.layerCount, 8U);
        QCOMPARE(info.moeLayerCount, 7U);
        QCOMPARE(info.expertCount, 24U);
        QCOMPARE(info.expertsPerToken, 4U);
        QCOMPARE(info.hiddenSize, 256U);
        QCOMPARE(info.vocabularySize, 3072U);
        QCOMPARE(info.contextMax, 4096U);
        QCOMPARE(info.quantization, std::string("published MXFP4/BF16/F32"));
        QCOMPARE(info.expertRecordBytes, 0U);
        QCOMPARE(info.endOfTextId, 2818);
        QCOMPARE(info.mediaPlaceholderId, 2837);
        QVERIFY(info.hasTokenizer && info.hasVision);
        QCOMPARE(info.tokenizerSha256.size(), 64U);
        // The card: 13.69 million with the tower, of which 8.26 million in routed experts; 5.67 million take
        // part in a token.
        QVERIFY(info.parametersTotal > 13'100'000 && info.parametersTotal < 13'690'000);
        QVERIFY(info.parametersActive > 4'800'000 && info.parametersActive < 5'700'000);
        QVERIFY(info.containerBytes > 15'600'000);
    }

    void tellsTheFactsOfAContainer()
    {
        const ModelInfo& info = openModel("kl-vq4p-mixed")->info();
        QCOMPARE(info.format, ModelInfo::Format::Container);
        QCOMPARE(info.name, std::string("kl-vq4p-mixed"));
        QCOMPARE(info.architecture, std::string("kimi-linear"));
        QCOMPARE(info.quantization, std::string("experts VQ4P, trunk Q4G/Q8G/F32"));
        QCOMPARE(info.expertRecordBytes, 20480U);
        QVERIFY(!info.hasTokenizer && !info.hasVision);
        QVERIFY(info.tokenizerSha256.empty());
        QCOMPARE(info.mediaPlaceholderId, -1);
        QCOMPARE(openModel("kl-rows-f32")->info().quantization, std::string("experts VQ2R, trunk F32"));
        QCOMPARE(openModel("k3-odd")->info().quantization, std::string("experts VQ3R, trunk Q3G/Q4G/Q8G/F32"));
    }

    void namesAModelByItsFolder()
    {
        const std::filesystem::path path = modelPath("k3-odd");
        for (const std::filesystem::path& spelling :
            {path, path / "", path / ".", path / ".." / path.filename(), std::filesystem::relative(path)}) {
            const Result<std::shared_ptr<const Container>> container = Container::open(spelling);
            WASTE_VERIFY_OK(container);
            QCOMPARE((*container)->info().name, std::string("k3-odd"));
        }
    }

    void saysThatAFolderIsNoModel()
    {
        const QTemporaryDir folder;
        const std::filesystem::path path = folder.path().toStdString();
        for (const std::filesystem::path& wrong : {path, path / "missing", modelPath("k3-odd") / "manifest.json"}) {
            const Result<std::shared_ptr<const Container>> container = Container::open(wrong);
            QVERIFY(!container.has_value());
            QCOMPARE(container.error().code, ErrorCode::NotFound);
            QVERIFY(container.error().message.find(wrong.string()) != std::string::npos);
        }
    }
};

QTEST_GUILESS_MAIN(TestModelFiles)
#include "tst_model_files.moc"
