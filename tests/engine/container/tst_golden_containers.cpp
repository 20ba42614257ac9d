// The golden containers decode to the stated values bit for bit: every trunk format and every index format,
// with subnormal and negative scales, odd offsets, holes between codebooks (tests/data/containers/README.md).

#include "container/bank_reader.h"
#include "container/codebooks.h"
#include "container/container_files.h"
#include "container/dequantize.h"
#include "container/trunk.h"
#include "container/verifier.h"
#include "platform/pages.h"
#include "platform/sha.h"
#include "support/damage.h"
#include "support/trunk_tensor.h"

#include <nlohmann/json.hpp>

#include <QTest>

#include <fstream>

using namespace waste;
using Json = nlohmann::json;

namespace {

std::string hashOf(std::span<const float> values)
{
    Sha256 sha;
    sha.update(std::as_bytes(values));
    return hexText(sha.finish());
}

Json statedValues(const QString& name)
{
    std::ifstream stream(std::string(WASTE_TEST_DATA "/containers/") + name.toStdString() + ".json");
    return Json::parse(stream, nullptr, false);
}

} // namespace

class TestGoldenContainers : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void trunkTensorsDecodeToTheStatedBits_data() { addContainers(); }
    void trunkTensorsDecodeToTheStatedBits();
    void singleRowsEqualTheRowsOfTheWhole_data() { addContainers(); }
    void singleRowsEqualTheRowsOfTheWhole();
    void expertMatricesDecodeToTheStatedBits_data() { addContainers(); }
    void expertMatricesDecodeToTheStatedBits();
    void nothingIsFoundDamaged_data() { addContainers(); }
    void nothingIsFoundDamaged();

private:
    static void addContainers()
    {
        QTest::addColumn<QString>("name");
        for (const char* name : test::kGoldenContainers)
            QTest::newRow(name) << QString(name);
    }
};

void TestGoldenContainers::trunkTensorsDecodeToTheStatedBits()
{
    QFETCH(QString, name);
    const auto files = ContainerFiles::open(test::goldenContainer(name.toStdString()));
    QVERIFY2(files, qPrintable(files ? QString() : QString::fromStdString(files.error().message)));
    const Json stated = statedValues(name);
    QVERIFY(!stated["trunk"].empty());
    QCOMPARE(stated["trunk"].size(), files->manifest.trunk.size());
    for (const Json& tensor : stated["trunk"]) {
        const auto tensorName = tensor["name"].get<std::string>();
        const TrunkEntry* entry = files->manifest.find(tensorName);
        QVERIFY2(entry != nullptr, tensorName.c_str());
        QVERIFY(formatName(*entry->format) == tensor["fmt"].get<std::string>());
        QVERIFY(entry->shape == tensor["shape"].get<std::vector<std::uint64_t>>());
        const auto loaded = test::TrunkTensor::load(files->directory, *entry, Verification::Full);
        QVERIFY2(loaded, tensorName.c_str());
        const kernels::MatrixView& matrix = loaded->matrix;
        QCOMPARE(reinterpret_cast<std::uintptr_t>(matrix.payload) % 64, std::uintptr_t{0});
        QCOMPARE(reinterpret_cast<std::uintptr_t>(matrix.scales) % 2, std::uintptr_t{0});
        std::vector<float> values(std::size_t{matrix.rows} * matrix.columns);
        dequantize(matrix, values);
        QVERIFY2(hashOf(values) == tensor["sha256"].get<std::string>(), tensorName.c_str());
    }
}

void TestGoldenContainers::singleRowsEqualTheRowsOfTheWhole()
{
    QFETCH(QString, name);
    const auto files = ContainerFiles::open(test::goldenContainer(name.toStdString()));
    QVERIFY(files);
    const auto trunk = Trunk::open(files->directory);
    QVERIFY(trunk);
    for (const TrunkEntry& entry : files->manifest.trunk) {
        const auto whole = test::TrunkTensor::load(files->directory, entry, Verification::Headers);
        QVERIFY(whole);
        const kernels::MatrixView& matrix = whole->matrix;
        const auto single = Pages::allocate(Trunk::residentRowBytes(entry), "test");
        for (const std::uint32_t row : {0U, matrix.rows / 2, matrix.rows - 1}) {
            const auto loaded = trunk->loadRow(entry, row, single->bytes());
            QVERIFY(loaded);
            std::vector<float> expected(matrix.columns);
            std::vector<float> actual(matrix.columns);
            dequantizeRow(matrix, row, expected);
            dequantize(*loaded, actual);
            QVERIFY2(hashOf(actual) == hashOf(expected), entry.name.c_str());
        }
    }
}

void TestGoldenContainers::expertMatricesDecodeToTheStatedBits()
{
    QFETCH(QString, name);
    const auto files = ContainerFiles::open(test::goldenContainer(name.toStdString()));
    QVERIFY(files);
    const Manifest& manifest = files->manifest;
    std::vector<std::string> warnings;
    const auto codebooks = Codebooks::load(files->directory, manifest, Verification::Full, warnings);
    QVERIFY(codebooks);
    const auto record = Pages::allocate(manifest.geometry.strideBytes, "test");
    const auto bytes = record->bytes().first(manifest.geometry.strideBytes);

    std::map<std::array<std::uint32_t, 3>, std::string> hashes;
    for (std::size_t bank = 0; bank < manifest.banks.size(); ++bank) {
        const auto reader = BankReader::open(files->directory, manifest, bank, *codebooks, /*direct=*/true);
        QVERIFY(reader);
        for (std::uint32_t expert = 0; expert < manifest.banks[bank].expertCount; ++expert) {
            QVERIFY(reader->readRecord(static_cast<std::uint16_t>(expert), bytes, Verification::Full));
            const auto views = reader->view(bytes);
            for (std::uint32_t k = 0; k < kExpertMatrixCount; ++k) {
                std::vector<float> values(std::size_t{views[k].rows} * views[k].columns);
                dequantize(views[k], values);
                hashes[{manifest.banks[bank].layer, expert, k}] = hashOf(values);
            }
        }
        // One positional read of one stride each, however the bytes came.
        QCOMPARE(reader->file().readCount(), std::uint64_t{manifest.banks[bank].expertCount});
    }

    const Json stated = statedValues(name);
    QCOMPARE(stated["expert_matrices"].size(), hashes.size());
    for (const Json& matrix : stated["expert_matrices"]) {
        const auto kind =
            std::find(kExpertMatrixNames.begin(), kExpertMatrixNames.end(), matrix["matrix"].get<std::string>());
        const std::array<std::uint32_t, 3> key = {matrix["layer"], matrix["expert"],
            static_cast<std::uint32_t>(std::distance(kExpertMatrixNames.begin(), kind))};
        QVERIFY2(hashes[key] == matrix["sha256"].get<std::string>(), matrix.dump().substr(0, 80).c_str());
    }
}

void TestGoldenContainers::nothingIsFoundDamaged()
{
    QFETCH(QString, name);
    const auto files = ContainerFiles::open(test::goldenContainer(name.toStdString()));
    QVERIFY(files);
    QVERIFY(files->warnings.empty());
    const CancelFlag cancel;
    QStringList damages;
    const auto report = verifyContainer(
        *files, {}, [&](const Damage& damage) { damages << QString::fromStdString(damage.error.message); }, {}, cancel);
    QVERIFY(report);
    QCOMPARE(damages, QStringList());
    QCOMPARE(report->damageCount, std::uint64_t{0});
    QVERIFY(report->recordsChecked > 0);
}

QTEST_APPLESS_MAIN(TestGoldenContainers)
#include "tst_golden_containers.moc"
