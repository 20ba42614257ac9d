// Files beside the weights (spec: container 10).

#include "container/model_config.h"
#include "convert/side_files.h"
#include "support/directory_content.h"
#include "support/safetensors_writer.h"
#include "support/tiny_checkpoint.h"

#include <QTemporaryDir>
#include <QTest>

#include <nlohmann/json.hpp>

#include <fstream>

using namespace waste;
namespace fs = std::filesystem;

namespace {

// A checkpoint and the container that its side files go into.
class Workbench {
public:
    explicit Workbench(const fs::path& checkpoint = {})
        : source(checkpoint.empty() ? fs::path(m_folder.filePath("source").toStdString()) : checkpoint)
        , target(m_folder.filePath("target").toStdString())
    {
        if (checkpoint.empty())
            test::writeTinyCheckpoint(source,
                {.family = test::TinyFamily::KimiK3,
                    .expertCount = 2,
                    .shardCount = 1,
                    .tokenizer = true,
                    .vision = true});
    }

    void put(const std::string& name, const std::string& text) const
    {
        std::ofstream(source / name, std::ios::binary) << text;
    }

    Status write(std::string_view architecture = "kimi-k3")
    {
        WASTE_TRY(const auto files, CheckpointFiles::open(source));
        WASTE_TRY(const ModelConfig config,
            ModelConfig::parse(files->config(), ModelConfig::Origin::Checkpoint, "config.json"));
        WASTE_TRY(const auto sideFiles,
            composeSideFiles(*files,
                {.architecture = architecture,
                    .vocabularySize = config.vocabularySize,
                    .hiddenSize = config.hiddenSize},
                warnings));
        const ConvertSink noSink;
        const ConversionProgress progress(noSink, nullptr);
        WASTE_TRY(const WorkFolder folder, WorkFolder::open(target, progress));
        for (const SideFile& file : sideFiles)
            WASTE_TRY_STATUS(writeSideFile(file, folder));
        return {};
    }

    [[nodiscard]] std::string text(const std::string& name) const { return contentOf(target / name); }
    [[nodiscard]] std::string sourceText(const std::string& name) const { return contentOf(source / name); }
    [[nodiscard]] nlohmann::json json(const std::string& name) const
    {
        return nlohmann::json::parse(text(name), nullptr, false);
    }

private:
    static std::string contentOf(const fs::path& file)
    {
        const std::vector<std::byte> bytes = test::readBytes(file);
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }

    QTemporaryDir m_folder;

public:
    const fs::path source;
    const fs::path target;
    std::vector<std::string> warnings;
};

} // namespace

class SideFilesTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theBuiltInModelBringsAllOfThem()
    {
        Workbench bench(WASTE_K3_MINI_CHECKPOINT);
        const Status status = bench.write();
        QVERIFY2(status.has_value(), status ? "" : status.error().message.c_str());
        QVERIFY(bench.warnings.empty());
        QVERIFY(test::readBytes(bench.target / "tokenizer.model") == test::readBytes(bench.source / "tokenizer.model"));
        QVERIFY(test::readBytes(bench.target / "generation_config.json")
            == test::readBytes(bench.source / "generation_config.json"));
        QVERIFY(!fs::exists(bench.target / "chat_template.jinja"));
        QVERIFY(bench.json("chat.json").contains("assistant"));
        // Ascending ids, exactly two members, in the order that a plain scanner expects.
        QVERIFY(
            QString::fromStdString(bench.text("specials.json"))
                .startsWith(
                    R"([{"id":2816,"text":"[BOS]"},{"id":2817,"text":"[EOS]"},{"id":2818,"text":"<|end_of_msg|>"},)"));
        QCOMPARE(bench.json("specials.json").size(), std::size_t{12});
    }

    void visionTakesTheTowerAndHowPicturesArePrepared()
    {
        Workbench bench(WASTE_K3_MINI_CHECKPOINT);
        QVERIFY(bench.write().has_value());
        const nlohmann::json vision = bench.json("vision.json");
        QCOMPARE(vision["vt_hidden_size"].get<int>(), 64);
        QCOMPARE(vision["vt_rms_eps"].get<double>(), 1.1920928955078125e-07);
        QCOMPARE(vision["media_placeholder_token_id"].get<int>(), 2837);
        QCOMPARE(vision["max_patches"].get<int>(), 1024);
        QCOMPARE(vision["in_patch_limit"].get<int>(), 144);
        QCOMPARE(vision["patch_limit_on_one_side"].get<int>(), 512);
        QCOMPARE(vision["image_mean"].size(), std::size_t{3});
        QCOMPARE(vision["transparent_bg_config"]["chessboard_gray_value"].get<int>(), 180);
        QCOMPARE(vision["transparent_bg_fill_stage"].get<std::string>(), std::string("after_resize"));
        QCOMPARE(vision["merge_kernel_size"].size(), std::size_t{2}); // the tower's, not the processor's
    }

    void withoutPreprocessorTheDefaultsAreUsedLoudly()
    {
        Workbench bench;
        QVERIFY(bench.write().has_value());
        QCOMPARE(bench.warnings.size(), std::size_t{1});
        QCOMPARE(bench.json("vision.json")["image_std"][2].get<double>(), 0.5);
        QVERIFY(!bench.json("vision.json").contains("_note"));
    }

    void aChatFileThatIsThereIsNeverReplaced()
    {
        Workbench bench;
        fs::create_directories(bench.target);
        std::ofstream(bench.target / "chat.json") << "mine";
        QVERIFY(bench.write().has_value());
        QCOMPARE(bench.text("chat.json"), std::string("mine"));
    }

    void anUnknownArchitectureGetsNoChatFile()
    {
        Workbench bench;
        QVERIFY(bench.write("another").has_value());
        QVERIFY(!fs::exists(bench.target / "chat.json"));
    }

    void theTemplateIsFoundWhereverItIs_data()
    {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("content");
        QTest::newRow("file of its own") << "chat_template.jinja"
                                         << "{{ text }}";
        QTest::newRow("JSON file") << "chat_template.json"
                                   << R"({"chat_template":"{{ text }}"})";
        QTest::newRow("tokenizer") << "tokenizer_config.json"
                                   << R"({"chat_template":"{{ text }}"})";
    }
    void theTemplateIsFoundWhereverItIs()
    {
        QFETCH(QString, file);
        QFETCH(QString, content);
        Workbench bench;
        bench.put(file.toStdString(), content.toStdString());
        QVERIFY(bench.write().has_value());
        QCOMPARE(bench.text("chat_template.jinja"), std::string("{{ text }}"));
    }

    void theFirstNameOfTheRankFileWins()
    {
        Workbench bench;
        const std::string ranks = bench.sourceText("tokenizer.model");
        bench.put("tiktoken.model", ranks);
        bench.put("tokenizer.model", "not looked at");
        const Status status = bench.write();
        QVERIFY2(status.has_value(), status ? "" : status.error().message.c_str());
        QCOMPARE(bench.text("tokenizer.model"), ranks);
    }

    void withoutTokenizerThereIsAWarning()
    {
        Workbench bench(fs::path(WASTE_TEST_DATA) / "kl-mini");
        QVERIFY(bench.write("kimi-linear").has_value());
        QCOMPARE(bench.warnings.size(), std::size_t{1});
        QVERIFY(!fs::exists(bench.target / "tokenizer.model"));
        QVERIFY(!fs::exists(bench.target / "specials.json"));
        QVERIFY(!fs::exists(bench.target / "vision.json"));
    }

    void badFilesAreRefusedByName_data()
    {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("content");
        const QString config = "tokenizer_config.json";
        QTest::newRow("no JSON") << config << "{";
        QTest::newRow("a list") << config << "[]";
        QTest::newRow("specials as list") << config << R"({"added_tokens_decoder":[]})";
        QTest::newRow("id that is no number") << config << R"({"added_tokens_decoder":{"x":{"content":"a"}}})";
        QTest::newRow("negative id") << config << R"({"added_tokens_decoder":{"-1":{"content":"a"}}})";
        QTest::newRow("id outside the vocabulary") << config << R"({"added_tokens_decoder":{"512":{"content":"a"}}})";
        QTest::newRow("id of a ranked token") << config << R"({"added_tokens_decoder":{"7":{"content":"a"}}})";
        QTest::newRow("id written twice")
            << config << R"({"added_tokens_decoder":{"7":{"content":"a"},"07":{"content":"b"}}})";
        QTest::newRow("empty text") << config << R"({"added_tokens_decoder":{"7":{"content":""}}})";
        QTest::newRow("no text") << config << R"({"added_tokens_decoder":{"7":{}}})";
        QTest::newRow("token as text") << config << R"({"added_tokens_decoder":{"7":"a"}})";
        QTest::newRow("preprocessor") << "preprocessor_config.json"
                                      << "nothing";
        QTest::newRow("how pictures are prepared") << "preprocessor_config.json"
                                                   << R"({"media_proc_cfg":{"image_std":[0,0,0]}})";
        QTest::newRow("tokenizer") << "tokenizer.model"
                                   << "garbage";
        QTest::newRow("empty tokenizer") << "tiktoken.model"
                                         << "";
        QTest::newRow("sampling") << "generation_config.json"
                                  << "{";
        QTest::newRow("template in JSON") << "chat_template.json"
                                          << "{";
        QTest::newRow("template that is no text") << "chat_template.jinja" << QString::fromLatin1("\xFF\xFE");
    }
    void badFilesAreRefusedByName()
    {
        QFETCH(QString, file);
        QFETCH(QString, content);
        Workbench bench;
        bench.put(file.toStdString(), content.toLatin1().toStdString());
        const Status status = bench.write();
        QVERIFY(!status);
        const std::string& message = status.error().message;
        QCOMPARE(status.error().code, ErrorCode::Corrupt);
        QVERIFY2(message.find(file.toStdString()) != std::string::npos, message.c_str());
        QVERIFY2(message.find(" again") != std::string::npos, message.c_str());
        QVERIFY(!fs::exists(bench.target)); // nothing is written before all of them are right
    }
};

QTEST_APPLESS_MAIN(SideFilesTest)
#include "tst_side_files.moc"
