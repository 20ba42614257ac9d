// Every damage of tests/data/containers/damage.json has the outcome that the table states, as far as it
// shows when a container is opened, read or verified. Token ids outside the vocabulary (Stage::Evaluate) and
// the logits of accepted oddities need a running engine and are tested with the session.

#include "container/bank_reader.h"
#include "container/codebooks.h"
#include "container/container_files.h"
#include "container/dequantize.h"
#include "container/trunk.h"
#include "container/verifier.h"
#include "platform/pages.h"
#include "platform/sha.h"
#include "support/damage.h"

#include <QTemporaryDir>
#include <QTest>

using namespace waste;
using test::DamageCase;

Q_DECLARE_METATYPE(const DamageCase*)

namespace {

// The first error of one stage, or none.
using Outcome = std::optional<Error>;

// Reads weights without looking at checksums: of every tensor its last row, every record.
Outcome readEverything(const ContainerFiles& files)
{
    std::vector<std::string> warnings;
    const auto codebooks = Codebooks::load(files.directory, files.manifest, Verification::Headers, warnings);
    if (!codebooks)
        return codebooks.error();
    const auto trunk = Trunk::open(files.directory);
    if (!trunk)
        return trunk.error();
    for (const TrunkEntry& entry : files.manifest.trunk) {
        if (!entry.format)
            continue;
        const auto row = Pages::allocate(Trunk::residentRowBytes(entry), "test");
        if (const auto read = trunk->loadRow(entry, entry.layout.rows - 1, row->bytes()); !read)
            return read.error();
    }
    const auto record = Pages::allocate(files.manifest.geometry.strideBytes, "test");
    for (std::size_t bank = 0; bank < files.manifest.banks.size(); ++bank) {
        const auto reader = BankReader::open(files.directory, files.manifest, bank, *codebooks, true);
        if (!reader)
            return reader.error();
        for (std::uint32_t expert = 0; expert < files.manifest.banks[bank].expertCount; ++expert)
            if (const auto status = reader->readRecord(static_cast<std::uint16_t>(expert),
                    record->bytes().first(reader->strideBytes()), Verification::Headers);
                !status)
                return status.error();
    }
    return std::nullopt;
}

Outcome verifyEverything(const ContainerFiles& files)
{
    Outcome first;
    const CancelFlag cancel;
    const auto report = verifyContainer(
        files, {},
        [&first](const Damage& damage) {
            if (!first)
                first = damage.error;
        },
        {}, cancel);
    return report ? first : report.error();
}

} // namespace

class TestDamage : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase();
    void theTableIsComplete();
    void damageHasTheStatedOutcome_data();
    void damageHasTheStatedOutcome();

private:
    void expectOutcome(const DamageCase& damage, DamageCase::Stage stage, const Outcome& outcome);
    void expectMatrix(const nlohmann::json& stated, const ContainerFiles& files);

    std::vector<DamageCase> m_cases;
};

void TestDamage::initTestCase()
{
    m_cases = test::damageCases();
}

void TestDamage::theTableIsComplete()
{
    QCOMPARE(m_cases.size(), std::size_t{167});
}

void TestDamage::damageHasTheStatedOutcome_data()
{
    QTest::addColumn<const DamageCase*>("damage");
    for (const DamageCase& damage : m_cases)
        if (damage.stage != DamageCase::Stage::Evaluate)
            QTest::addRow("%s / %s / %s", damage.row.substr(0, 40).c_str(), damage.name.substr(0, 60).c_str(),
                damage.container.c_str())
                << &damage;
}

void TestDamage::damageHasTheStatedOutcome()
{
    QFETCH(const DamageCase*, damage);
    const QTemporaryDir directory;
    QVERIFY(test::makeDamaged(*damage, directory.path().toStdString()));

    const auto files = ContainerFiles::open(directory.path().toStdString());
    expectOutcome(*damage, DamageCase::Stage::Open, files ? Outcome() : files.error());
    if (!files || QTest::currentTestFailed())
        return;
    if (!damage->matrix.is_null())
        expectMatrix(damage->matrix, *files);
    expectOutcome(*damage, DamageCase::Stage::Read, readEverything(*files));
    if (damage->stage == DamageCase::Stage::Verify)
        expectOutcome(*damage, DamageCase::Stage::Verify, verifyEverything(*files));
}

void TestDamage::expectOutcome(const DamageCase& damage, DamageCase::Stage stage, const Outcome& outcome)
{
    const bool mustFail = !damage.errors.empty() && stage == damage.stage;
    if (!mustFail) {
        QVERIFY2(!outcome, outcome ? outcome->message.c_str() : "");
        return;
    }
    QVERIFY2(outcome, "accepted");
    const std::string actual = test::errorClass(*outcome);
    const std::string told = actual + ": " + outcome->message;
    QVERIFY2(std::find(damage.errors.begin(), damage.errors.end(), actual) != damage.errors.end(), told.c_str());
    QVERIFY2(outcome->message.find(damage.mentions) != std::string::npos, told.c_str());
    // A refusal names the file.
    QVERIFY2(outcome->message.find(".json") != std::string::npos || outcome->message.find(".bin") != std::string::npos,
        told.c_str());
}

void TestDamage::expectMatrix(const nlohmann::json& stated, const ContainerFiles& files)
{
    std::vector<std::string> warnings;
    const auto codebooks = Codebooks::load(files.directory, files.manifest, Verification::Headers, warnings);
    QVERIFY(codebooks);
    const BankEntry* entry = files.manifest.bank(stated["layer"]);
    QVERIFY(entry != nullptr);
    const auto bank = static_cast<std::size_t>(entry - files.manifest.banks.data());
    const auto reader = BankReader::open(files.directory, files.manifest, bank, *codebooks, false);
    QVERIFY(reader);
    const auto pages = Pages::allocate(reader->strideBytes(), "test");
    const auto record = pages->bytes().first(reader->strideBytes());
    QVERIFY(reader->readRecord(stated["expert"], record, Verification::Headers));
    QVERIFY(stated["matrix"] == "gate");
    const auto gate = reader->view(record)[0];
    std::vector<float> values(std::size_t{gate.rows} * gate.columns);
    dequantize(gate, values);
    Sha256 sha;
    sha.update(std::as_bytes(std::span(values)));
    QCOMPARE(hexText(sha.finish()), stated["sha256"].get<std::string>());
}

QTEST_APPLESS_MAIN(TestDamage)
#include "tst_damage.moc"
