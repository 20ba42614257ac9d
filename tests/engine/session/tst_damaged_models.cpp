// The rows of tests/data/containers/damage.json that need a running engine: oddities that change no logit, and
// token ids outside the vocabulary.

#include "session_fixture.h"
#include "support/damage.h"
#include "support/golden.h"

#include <QTemporaryDir>

using namespace waste;
using test::DamageCase;

Q_DECLARE_METATYPE(const DamageCase*)

class TestDamagedModels : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase();
    void oddModelsGiveTheGoldenLogits_data();
    void oddModelsGiveTheGoldenLogits();
    void idsOutsideTheVocabularyAreRefused_data();
    void idsOutsideTheVocabularyAreRefused();

private:
    static void addRows(const std::vector<DamageCase>& cases, bool (*wanted)(const DamageCase&));
    static std::unique_ptr<Engine> openExact(const std::filesystem::path& directory);

    std::vector<DamageCase> m_cases;
};

void TestDamagedModels::initTestCase()
{
    m_cases = test::damageCases();
    const auto count = [this](auto predicate) { return std::count_if(m_cases.begin(), m_cases.end(), predicate); };
    QCOMPARE(count([](const DamageCase& damage) { return damage.sameLogits; }), 12);
    QCOMPARE(count([](const DamageCase& damage) { return damage.stage == DamageCase::Stage::Evaluate; }), 2);
}

void TestDamagedModels::addRows(const std::vector<DamageCase>& cases, bool (*wanted)(const DamageCase&))
{
    QTest::addColumn<const DamageCase*>("damage");
    for (const DamageCase& damage : cases)
        if (wanted(damage))
            QTest::addRow("%s / %s", damage.row.substr(0, 40).c_str(), damage.name.c_str()) << &damage;
}

std::unique_ptr<Engine> TestDamagedModels::openExact(const std::filesystem::path& directory)
{
    const auto model = Container::open(directory);
    if (!model) {
        qWarning("%s", model.error().message.c_str());
        return nullptr;
    }
    EngineOptions options;
    options.contextTokens = 64;
    options.exact = true; // golden values come from an exact reference
    options.verifyRecords = true;
    auto engine = Engine::open(*model, options);
    if (!engine) {
        qWarning("%s", engine.error().message.c_str());
        return nullptr;
    }
    return std::move(*engine);
}

void TestDamagedModels::oddModelsGiveTheGoldenLogits_data()
{
    addRows(m_cases, [](const DamageCase& damage) { return damage.sameLogits; });
}

void TestDamagedModels::oddModelsGiveTheGoldenLogits()
{
    QFETCH(const DamageCase*, damage);
    const QTemporaryDir directory;
    QVERIFY(test::makeDamaged(*damage, directory.path().toStdString()));
    const auto engine = openExact(directory.path().toStdString());
    QVERIFY(engine);
    const auto session = test::openSession(*engine);
    std::vector<float> logits;
    AppendOptions options;
    options.logitsSink = [&](std::uint64_t, std::span<const float> row) {
        logits.insert(logits.end(), row.begin(), row.end());
    };
    WASTE_VERIFY_OK(session->append(test::samplePrompt(damage->container), options));

    const auto golden =
        test::readFloats(std::filesystem::path(WASTE_TEST_DATA) / "containers" / (damage->container + ".logits.f32"));
    QVERIFY(!golden.empty() && golden.size() <= logits.size());
    const auto last = std::span<const float>(logits).last(golden.size());
    const double error = test::relativeError(last, golden);
    QVERIFY2(error < 1e-5, qPrintable(QString::number(error)));
}

void TestDamagedModels::idsOutsideTheVocabularyAreRefused_data()
{
    addRows(m_cases, [](const DamageCase& damage) { return damage.stage == DamageCase::Stage::Evaluate; });
}

void TestDamagedModels::idsOutsideTheVocabularyAreRefused()
{
    QFETCH(const DamageCase*, damage);
    const auto engine = openExact(test::goldenContainer(damage->container));
    QVERIFY(engine);
    const auto session = test::openSession(*engine);
    const Status status = session->append(damage->ids);
    QVERIFY(!status);
    QCOMPARE(test::errorClass(status.error()), damage->errors.front());
    QVERIFY(status.error().message.find(std::to_string(damage->ids.back())) != std::string::npos);
    // Nothing of it was evaluated, and the session goes on as if it had not been asked.
    QCOMPARE(session->position(), 0U);
    WASTE_VERIFY_OK(session->append(test::samplePrompt(damage->container)));
}

QTEST_APPLESS_MAIN(TestDamagedModels)
#include "tst_damaged_models.moc"
