// Two readers of the format that share no code, waste_container.py beside this file and the engine's, decode every
// tensor of a container to the same bits: of what our converter writes in every format, and of the golden containers,
// where both equal the stated values.

#include "container/bank_reader.h"
#include "container/codebooks.h"
#include "container/container_files.h"
#include "container/dequantize.h"
#include "platform/pages.h"
#include "platform/sha.h"
#include "support/damage.h"
#include "support/tiny_checkpoint.h"
#include "support/trunk_tensor.h"
#include "waste/converter.h"

#include <nlohmann/json.hpp>

#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include <fstream>
#include <map>

using namespace waste;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

// SHA-256 of decoded f32 by the tensor's name, or by "layer/expert/matrix".
using Hashes = std::map<std::string, std::string>;

std::string hashOf(std::span<const float> values)
{
    Sha256 sha;
    sha.update(std::as_bytes(values));
    return hexText(sha.finish());
}

void addTrunk(const ContainerFiles& files, Hashes& hashes)
{
    for (const TrunkEntry& entry : files.manifest.trunk) {
        const auto tensor = test::TrunkTensor::load(files.directory, entry, Verification::Full);
        QVERIFY2(tensor, entry.name.c_str());
        std::vector<float> values(std::size_t{tensor->matrix.rows} * tensor->matrix.columns);
        dequantize(tensor->matrix, values);
        hashes[entry.name] = hashOf(values);
    }
}

void addExperts(const ContainerFiles& files, Hashes& hashes)
{
    const Manifest& manifest = files.manifest;
    std::vector<std::string> warnings;
    const auto codebooks = Codebooks::load(files.directory, manifest, Verification::Full, warnings);
    QVERIFY(codebooks);
    const auto record = Pages::allocate(manifest.geometry.strideBytes, "test");
    const auto bytes = record->bytes().first(manifest.geometry.strideBytes);
    for (std::size_t bank = 0; bank < manifest.banks.size(); ++bank) {
        const auto reader = BankReader::open(files.directory, manifest, bank, *codebooks, /*direct=*/true);
        QVERIFY(reader);
        for (std::uint32_t expert = 0; expert < manifest.banks[bank].expertCount; ++expert) {
            QVERIFY(reader->readRecord(static_cast<std::uint16_t>(expert), bytes, Verification::Full));
            const auto views = reader->view(bytes);
            for (std::size_t k = 0; k < kExpertMatrixCount; ++k) {
                std::vector<float> values(std::size_t{views[k].rows} * views[k].columns);
                dequantize(views[k], values);
                const std::string layer = std::to_string(manifest.banks[bank].layer);
                hashes[layer + "/" + std::to_string(expert) + "/" + std::string(kExpertMatrixNames[k])] =
                    hashOf(values);
            }
        }
    }
}

Hashes readByEngine(const fs::path& container)
{
    Hashes hashes;
    const auto files = ContainerFiles::open(container);
    if (!files) {
        QTest::qFail(files.error().message.c_str(), __FILE__, __LINE__);
        return hashes;
    }
    addTrunk(*files, hashes);
    addExperts(*files, hashes);
    return hashes;
}

Hashes readByReference(const fs::path& container)
{
    QProcess process;
    process.start(WASTE_PYTHON,
        {WASTE_SOURCE_DIR "/tests/reference/waste_container.py", QString::fromStdString(container.string())});
    if (!process.waitForFinished(240'000) || process.exitCode() != 0) {
        QTest::qFail(process.readAllStandardError().constData(), __FILE__, __LINE__);
        return {};
    }
    const Json json = Json::parse(process.readAllStandardOutput().toStdString(), nullptr, false);
    return json.is_object() ? json.get<Hashes>() : Hashes();
}

Hashes statedValues(const std::string& name)
{
    std::ifstream stream(std::string(WASTE_TEST_DATA "/containers/") + name + ".json");
    const Json stated = Json::parse(stream, nullptr, false);
    Hashes hashes;
    for (const Json& tensor : stated["trunk"])
        hashes[tensor["name"]] = tensor["sha256"];
    for (const Json& matrix : stated["expert_matrices"])
        hashes[std::to_string(matrix["layer"].get<int>()) + "/" + std::to_string(matrix["expert"].get<int>()) + "/"
            + matrix["matrix"].get<std::string>()] = matrix["sha256"];
    return hashes;
}

std::string firstDifference(const Hashes& actual, const Hashes& expected)
{
    if (actual.size() != expected.size())
        return std::to_string(actual.size()) + " instead of " + std::to_string(expected.size()) + " tensors";
    for (const auto& [name, hash] : expected) {
        const auto found = actual.find(name);
        if (found == actual.end() || found->second != hash)
            return name;
    }
    return {};
}

} // namespace

class TestReferenceReader : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase()
    {
        if (QByteArray(WASTE_PYTHON).isEmpty())
            QSKIP("there is no Python here");
    }

    void goldenContainersHaveTheStatedBits_data()
    {
        QTest::addColumn<QString>("name");
        for (const char* name : test::kGoldenContainers)
            QTest::newRow(name) << QString(name);
    }
    void goldenContainersHaveTheStatedBits()
    {
        QFETCH(QString, name);
        const fs::path container = test::goldenContainer(name.toStdString());
        const Hashes expected = statedValues(name.toStdString());
        QVERIFY(!expected.empty());
        QCOMPARE(firstDifference(readByReference(container), expected), std::string());
        QCOMPARE(firstDifference(readByEngine(container), expected), std::string());
    }

    void theBuiltInModelReadsTheSame()
    {
        const Hashes reference = readByReference(WASTE_K3_MINI_CONTAINER);
        QVERIFY(reference.size() > 7 * 24 * 3); // the experts of seven layers, and the trunk
        QCOMPARE(firstDifference(readByEngine(WASTE_K3_MINI_CONTAINER), reference), std::string());
    }

    void whatTheConverterWritesReadsTheSame_data()
    {
        QTest::addColumn<int>("format");
        QTest::addColumn<quint32>("trunkBits");
        QTest::addColumn<bool>("isK3");
        const auto row = [](const char* name, ExpertFormat format, quint32 trunkBits, bool isK3) {
            QTest::newRow(name) << static_cast<int>(format) << trunkBits << isK3;
        };
        row("VQ3R, 4 bits", ExpertFormat::Vq3r, 4U, false);
        row("VQ3R, 8 bits, pictures", ExpertFormat::Vq3r, 8U, true);
        row("VQ4P, 3 bits", ExpertFormat::Vq4p, 3U, false);
        row("VQ4P, 4 bits, pictures", ExpertFormat::Vq4p, 4U, true);
        row("VQ2R, 3 bits, pictures", ExpertFormat::Vq2r, 3U, true);
    }
    void whatTheConverterWritesReadsTheSame()
    {
        QFETCH(int, format);
        QFETCH(quint32, trunkBits);
        QFETCH(bool, isK3);
        const QTemporaryDir folder;
        ConvertOptions options;
        options.source = folder.filePath("source").toStdString();
        options.target = folder.filePath("model.waste").toStdString();
        options.expertFormat = static_cast<ExpertFormat>(format);
        options.trunkBits = trunkBits;
        // Large enough that matrices are quantised: smaller tensors stay F32.
        test::writeTinyCheckpoint(options.source,
            {.family = isK3 ? test::TinyFamily::KimiK3 : test::TinyFamily::KimiLinear,
                .hiddenSize = 264,
                .expertCount = 3,
                .vision = isK3});
        const auto converted = convert(options);
        QVERIFY2(converted, converted ? "" : converted.error().message.c_str());
        const Hashes reference = readByReference(options.target);
        QVERIFY(!reference.empty());
        QCOMPARE(firstDifference(readByEngine(options.target), reference), std::string());
    }
};

QTEST_APPLESS_MAIN(TestReferenceReader)
#include "tst_reference_reader.moc"
