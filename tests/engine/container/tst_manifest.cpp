// Manifests written and read back, and what the damage table does not say about reading them.

#include "container/error_reasons.h"
#include "container/manifest.h"

#include <nlohmann/json.hpp>

#include <QTest>

#include <fstream>

using namespace waste;
using Json = nlohmann::json;

namespace {

std::string readText(const std::string& path)
{
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

Json goldenJson(const char* name)
{
    return Json::parse(readText(std::string(WASTE_TEST_DATA "/containers/") + name + ".waste/manifest.json"));
}

// Writes what was read from a golden container once more.
std::string composeAgain(const Json& golden, const Manifest& manifest)
{
    const Json config = golden["config"];
    return composeManifest({.config = config,
        .architecture = std::string(manifest.config.name()),
        .tensorPrefix = manifest.config.tensorPrefix,
        .expertQuant = manifest.expertQuant,
        .codebooksCrc32 = manifest.codebooksCrc32,
        .banks = manifest.banks,
        .trunk = manifest.trunk,
        .desktop = manifest.desktop});
}

} // namespace

class TestManifest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void whatIsWrittenReadsBack_data();
    void whatIsWrittenReadsBack();
    void metadataSurvives();
    void writtenManifestsSuitPlainParsers();
    void metadataOfTheWrongKindIsIgnored();
    void checksumsOfTheWrongKindAreRefused();
    void textAfterTheRootIsRefused();
    void ofDuplicateKeysTheLastCounts();
    void escapedNamesAreUnescaped();
    void wrappersAreTakenApart();
    void anotherNameOfTheExpertCountIsUnified();
    void deepNestingIsCountedOutsideOfStrings();
};

void TestManifest::whatIsWrittenReadsBack_data()
{
    QTest::addColumn<QString>("name");
    for (const char* name : {"kl-vq3r-q4g", "kl-vq2r-q8g", "kl-vq4p-q3g", "kl-vq4p-mixed", "kl-rows-f32", "k3-odd"})
        QTest::newRow(name) << QString(name);
}

void TestManifest::whatIsWrittenReadsBack()
{
    QFETCH(QString, name);
    const Json golden = goldenJson(name.toUtf8());
    const auto manifest = Manifest::parse(golden.dump());
    QVERIFY2(manifest, manifest ? "" : manifest.error().message.c_str());
    const auto again = Manifest::parse(composeAgain(golden, *manifest));
    QVERIFY2(again, again ? "" : again.error().message.c_str());
    QVERIFY(again->expertQuant == manifest->expertQuant);
    QCOMPARE(again->codebooksCrc32, manifest->codebooksCrc32);
    QCOMPARE(again->banks.size(), manifest->banks.size());
    for (std::size_t i = 0; i < manifest->banks.size(); ++i) {
        QCOMPARE(again->banks[i].file, manifest->banks[i].file);
        QCOMPARE(again->banks[i].bytes, manifest->banks[i].bytes);
        QCOMPARE(again->banks[i].codebookBase, manifest->banks[i].codebookBase);
    }
    QCOMPARE(again->trunk.size(), manifest->trunk.size());
    for (std::size_t i = 0; i < manifest->trunk.size(); ++i) {
        QCOMPARE(again->trunk[i].name, manifest->trunk[i].name);
        QVERIFY(again->trunk[i].format == manifest->trunk[i].format);
        QVERIFY(again->trunk[i].shape == manifest->trunk[i].shape);
        QCOMPARE(again->trunk[i].offset, manifest->trunk[i].offset);
        QCOMPARE(again->trunk[i].scaleOffset, manifest->trunk[i].scaleOffset);
        QCOMPARE(again->trunk[i].group, manifest->trunk[i].group);
        QCOMPARE(again->trunk[i].crc32, manifest->trunk[i].crc32);
    }
    // The figure that planners of other readers add up.
    const Json written = Json::parse(composeAgain(golden, *manifest));
    std::uint64_t bytes = 0;
    std::uint64_t expected = 0;
    for (const Json& entry : written["trunk"])
        bytes += entry["bytes"].get<std::uint64_t>();
    for (const Json& entry : golden["trunk"])
        expected += entry["bytes"].get<std::uint64_t>();
    QCOMPARE(bytes, expected);
}

void TestManifest::metadataSurvives()
{
    const Json golden = goldenJson("kl-vq4p-mixed");
    auto manifest = Manifest::parse(golden.dump());
    QCOMPARE(manifest->desktop.converter, std::string("golden writer"));
    QCOMPARE(manifest->desktop.seed, std::optional<std::uint64_t>(1));
    manifest->desktop.sourceRepository = "owner/name";
    manifest->desktop.sourceRevision = "abc";
    manifest->desktop.created = "2026-01-02T03:04:05Z";
    manifest->desktop.errors[2] = {0.1, 0.2, 0.25};
    const auto again = Manifest::parse(composeAgain(golden, *manifest));
    QVERIFY(again);
    QCOMPARE(again->desktop.sourceRepository, std::string("owner/name"));
    QCOMPARE(again->desktop.sourceRevision, std::string("abc"));
    QCOMPARE(again->desktop.created, std::string("2026-01-02T03:04:05Z"));
    QCOMPARE(again->desktop.recipe, std::string("greedy"));
    QVERIFY(again->desktop.errors == manifest->desktop.errors);
}

void TestManifest::writtenManifestsSuitPlainParsers()
{
    const Json golden = goldenJson("kl-vq3r-q4g");
    auto manifest = Manifest::parse(golden.dump());
    std::reverse(manifest->trunk.begin(), manifest->trunk.end());
    std::reverse(manifest->banks.begin(), manifest->banks.end());
    const std::string text = composeAgain(golden, *manifest);
    QVERIFY(text.find('\\') == std::string::npos);
    QVERIFY(text.starts_with("{\"format_version\":0,"));
    QVERIFY(text.find("\"layers\":{\"1\":{") != std::string::npos); // a MoE layer first
    const Json written = Json::parse(text);
    for (std::size_t i = 1; i < written["trunk"].size(); ++i)
        QVERIFY(written["trunk"][i - 1]["name"].get<std::string>() < written["trunk"][i]["name"].get<std::string>());
    QVERIFY(!written.contains("x_desktop")); // nothing to tell
}

void TestManifest::metadataOfTheWrongKindIsIgnored()
{
    Json json = goldenJson("kl-vq4p-mixed");
    for (const Json& value : {Json("x"), Json(7), Json::array({1}), Json({{"errors", 3}, {"source", {{"repo", 5}}}})}) {
        json["x_desktop"] = value;
        const auto manifest = Manifest::parse(json.dump());
        QVERIFY(manifest);
        QVERIFY(manifest->desktop.sourceRepository.empty());
    }
}

void TestManifest::checksumsOfTheWrongKindAreRefused()
{
    for (const Json& value : {Json("12"), Json(-1), Json(4294967296), Json(0.5)}) {
        Json json = goldenJson("kl-vq4p-mixed");
        json["trunk"][3]["crc32"] = value;
        QVERIFY(!Manifest::parse(json.dump()));
        json = goldenJson("kl-vq4p-mixed");
        json["expert_quant"]["codebooks_crc32"] = value;
        QVERIFY(!Manifest::parse(json.dump()));
    }
}

void TestManifest::textAfterTheRootIsRefused()
{
    const auto manifest = Manifest::parse(goldenJson("kl-rows-f32").dump() + " {}");
    QVERIFY(!manifest);
    QCOMPARE(manifest.error().reason, std::string(reason::kManifest));
}

void TestManifest::ofDuplicateKeysTheLastCounts()
{
    const std::string text = goldenJson("kl-rows-f32").dump();
    QVERIFY(!Manifest::parse(text.substr(0, text.size() - 1) + ",\"format_version\":1}"));
    QVERIFY(Manifest::parse("{\"format_version\":1," + text.substr(1)));
}

void TestManifest::escapedNamesAreUnescaped()
{
    std::string text = goldenJson("kl-rows-f32").dump();
    const std::size_t place = text.find("\"lm_head.weight\"");
    QVERIFY(place != std::string::npos);
    text.replace(place, 3, "\"\\u006cm");
    const auto manifest = Manifest::parse(text);
    QVERIFY(manifest);
    QVERIFY(manifest->find("lm_head.weight") != nullptr);
}

void TestManifest::wrappersAreTakenApart()
{
    const Json published = Json::parse(readText(WASTE_K3_MINI_CHECKPOINT "/config.json"));
    const Json config = composeConfig(published);
    QCOMPARE(config["hidden_size"].get<int>(), 256);
    QVERIFY(config["_outer"].contains("vision_config"));
    QVERIFY(!config["_outer"].contains("text_config"));
    QVERIFY(config["_outer"]["architectures"] == published["architectures"]);
}

void TestManifest::anotherNameOfTheExpertCountIsUnified()
{
    Json published = Json::parse(readText(WASTE_TEST_DATA "/kl-mini/config.json"));
    published["n_routed_experts"] = published["num_experts"];
    published.erase("num_experts");
    QCOMPARE(composeConfig(published)["num_experts"].get<int>(), 16);
}

void TestManifest::deepNestingIsCountedOutsideOfStrings()
{
    Json json = goldenJson("kl-rows-f32");
    json["note"] = std::string(200, '[') + "\\\"" + std::string(200, '{');
    QVERIFY(Manifest::parse(json.dump()));
    Json nested = 0;
    for (int i = 0; i < 63; ++i) // with the root: 64 levels
        nested = Json::array({nested});
    json["note"] = nested;
    QVERIFY(Manifest::parse(json.dump()));
    json["note"] = Json::array({nested});
    QVERIFY(!Manifest::parse(json.dump()));
}

QTEST_APPLESS_MAIN(TestManifest)
#include "tst_manifest.moc"
