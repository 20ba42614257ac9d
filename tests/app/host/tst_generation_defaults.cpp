// Recommended sampling (spec: cli B.4): what a file says, what is filled in, what happens without one.

#include "host/generation_defaults.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

using namespace waste;

namespace {

Result<SamplingOptions> recommended(const QByteArray& file, const char* architecture)
{
    QTemporaryDir folder;
    if (!file.isNull()) {
        QFile config(folder.filePath("generation_config.json"));
        if (!config.open(QIODevice::WriteOnly) || config.write(file) != file.size())
            return Error{ErrorCode::Io, "", "cannot write the test's file"};
    }
    return host::recommendedSampling(folder.path().toStdString(), architecture);
}

} // namespace

class TestGenerationDefaults : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void followsTheFileAndFillsTheRest_data()
    {
        QTest::addColumn<QByteArray>("file");
        QTest::addColumn<QByteArray>("architecture");
        QTest::addColumn<double>("temperature");
        QTest::addColumn<double>("topP");
        QTest::addColumn<int>("topK");
        const auto row = [](const char* name, const char* file, const char* architecture, double t, double p, int k) {
            QTest::newRow(name) << QByteArray(file) << QByteArray(architecture) << t << p << k;
        };
        row("no file, K3", nullptr, "kimi-k3", 1.0, 0.95, 0);
        row("no file, other", nullptr, "kimi-linear", 0, 1, 0);
        row("none of the four, K3", R"({"max_length":4096})", "kimi-k3", 1.0, 0.95, 0);
        row("none of the four, other", R"({"eos_token_id":3})", "kimi-linear", 0, 1, 0);
        row("null counts as absent", R"({"temperature":null})", "kimi-k3", 1.0, 0.95, 0);
        row("greedy by do_sample", R"({"do_sample":false,"temperature":0.7})", "kimi-k3", 0, 1, 0);
        row("all three", R"({"temperature":0.6,"top_p":0.9,"top_k":40})", "kimi-k3", 0.6, 0.9, 40);
        row("one of three", R"({"top_k":40})", "kimi-linear", 1, 1, 40);
        row("only do_sample", R"({"do_sample":true})", "kimi-k3", 1, 1, 0);
        row("temperature 0", R"({"temperature":0})", "kimi-k3", 0, 1, 0);
    }
    void followsTheFileAndFillsTheRest()
    {
        QFETCH(QByteArray, file);
        QFETCH(QByteArray, architecture);
        QFETCH(double, temperature);
        QFETCH(double, topP);
        QFETCH(int, topK);
        const auto sampling = recommended(file, architecture.constData());
        QVERIFY2(sampling, sampling ? "" : sampling.error().message.c_str());
        QCOMPARE(sampling->temperature, temperature);
        QCOMPARE(sampling->topP, topP);
        QCOMPARE(int(sampling->topK), topK);
        QCOMPARE(sampling->minP, 0.0);
    }

    void refusesAFileThatMakesNoSense_data()
    {
        QTest::addColumn<QByteArray>("file");
        for (const char* file :
            {"", "[]", "{", R"({"temperature":"warm"})", R"({"temperature":-1})", R"({"temperature":1e300})",
                R"({"top_p":0})", R"({"top_p":1.1})", R"({"top_k":-1})", R"({"do_sample":1})"})
            QTest::newRow(*file ? file : "empty") << QByteArray(file);
    }
    void refusesAFileThatMakesNoSense()
    {
        QFETCH(QByteArray, file);
        const auto sampling = recommended(file, "kimi-k3");
        QVERIFY(!sampling);
        QCOMPARE(sampling.error().code, ErrorCode::Corrupt);
        QVERIFY(sampling.error().message.find("generation_config.json") != std::string::npos);
    }

    void withoutTheFileTheUsualSamplingIsUsed()
    {
        QCOMPARE(host::usualSampling("kimi-k3").topP, 0.95);
        QCOMPARE(host::usualSampling("kimi-linear").temperature, 0.0);
    }

    void theBuiltInModelIsGreedy()
    {
        const auto sampling = host::recommendedSampling(WASTE_K3_MINI_CHECKPOINT, "kimi-k3");
        QVERIFY(sampling);
        QCOMPARE(sampling->temperature, 0.0);
    }
};

QTEST_APPLESS_MAIN(TestGenerationDefaults)
#include "tst_generation_defaults.moc"
