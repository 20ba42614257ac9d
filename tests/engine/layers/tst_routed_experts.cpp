// The order in which experts arrive, and how many of them are there at a time, never change a bit; reduced
// arithmetic is near the exact one.

#include "engine/layers/model_runner.h"
#include "support/golden.h"

#include <QTest>

#include <algorithm>
#include <random>

using namespace waste;
using namespace waste::test;

namespace {

const std::filesystem::path kContainers = std::filesystem::path(WASTE_TEST_DATA) / "containers";

struct Subject {
    std::unique_ptr<TestModel> model;
    std::vector<TokenId> ids;
};

Subject makeSubject(const std::string& name)
{
    return {std::move(*TestModel::fromContainer(kContainers / (name + ".waste"))),
        readJson(kContainers / (name + ".json")).at("ids").get<std::vector<TokenId>>()};
}

// Hands announced experts out in any order, and says now and then that none has arrived.
class ShuffledExperts final : public ExpertSource {
public:
    ShuffledExperts(ExpertSource& inner, std::uint32_t seed)
        : m_inner(inner)
        , m_random(seed)
    {
    }
    void announce(std::uint16_t layer, std::span<const std::uint16_t> experts) override
    {
        m_layer = layer;
        m_left.assign(experts.begin(), experts.end());
        std::shuffle(m_left.begin(), m_left.end(), m_random);
    }
    Result<Arrival> acquireNext() override
    {
        if (m_left.empty())
            return Error{ErrorCode::Internal, "", "more experts were asked for than announced"};
        const std::uint16_t expert = m_left.back();
        m_left.pop_back();
        WASTE_TRY(Pin pin, m_inner.acquire({m_layer, expert}));
        return Arrival{expert, std::move(pin)};
    }
    Result<std::optional<Arrival>> tryAcquireNext() override
    {
        if (m_left.empty() || m_random() % 3 == 0)
            return std::optional<Arrival>();
        WASTE_TRY(Arrival arrival, acquireNext());
        return std::optional<Arrival>(std::move(arrival));
    }
    [[nodiscard]] std::uint32_t guessesWanted() override { return 0; }
    void prefetch(std::uint16_t, std::span<const std::uint16_t>, GuessFor) override { }
    Result<Pin> acquire(ExpertKey key) override { return m_inner.acquire(key); }
    [[nodiscard]] std::size_t leftCount() const { return m_left.size(); }

private:
    void release(std::uint32_t) override { } // pins are the inner source's

    ExpertSource& m_inner;
    std::mt19937 m_random;
    std::uint16_t m_layer = 0;
    std::vector<std::uint16_t> m_left;
};

std::vector<float> logitsOf(const Subject& subject, const ModelRunner::Setup& setup)
{
    ModelRunner runner(*subject.model, setup);
    runner.collectEverything();
    if (const Status status = runner.append(subject.ids); !status)
        qWarning("%s", status.error().message.c_str());
    return runner.allLogits();
}

} // namespace

class TestRoutedExperts : public QObject {
    Q_OBJECT

private:
    static void addSubjects()
    {
        QTest::addColumn<QByteArray>("name");
        for (const char* name : {"k3-odd", "kl-vq3r-q4g", "kl-vq2r-q8g", "kl-vq4p-q3g", "kl-vq4p-mixed", "kl-rows-f32"})
            QTest::newRow(name) << QByteArray(name);
    }

private Q_SLOTS:
    void theOrderOfArrivalNeverChangesABit_data() { addSubjects(); }
    void theOrderOfArrivalNeverChangesABit()
    {
        QFETCH(const QByteArray, name);
        const Subject subject = makeSubject(name.toStdString());
        for (const Arithmetic arithmetic : {Arithmetic::Exact, Arithmetic::Reduced}) {
            for (const std::uint32_t chunk : {1U, 5U, 64U}) {
                const std::vector<float> expected =
                    logitsOf(subject, {.chunkTokensMax = chunk, .arithmetic = arithmetic});
                QVERIFY(!expected.empty());
                for (std::uint32_t seed = 0; seed < 3; ++seed) {
                    ShuffledExperts shuffled(*subject.model->experts, seed);
                    const std::vector<float> actual = logitsOf(subject,
                        {.threadCount = 1 + seed,
                            .chunkTokensMax = chunk,
                            .experts = &shuffled,
                            .arithmetic = arithmetic});
                    QVERIFY(actual == expected);
                    QCOMPARE(shuffled.leftCount(), std::size_t{0});
                }
            }
        }
    }

    void reducedArithmeticIsNearTheExactOne_data() { addSubjects(); }
    void reducedArithmeticIsNearTheExactOne()
    {
        QFETCH(const QByteArray, name);
        const Subject subject = makeSubject(name.toStdString());
        for (const std::uint32_t chunk : {1U, 64U}) {
            const std::vector<float> exact = logitsOf(subject, {.chunkTokensMax = chunk});
            const std::vector<float> reduced =
                logitsOf(subject, {.chunkTokensMax = chunk, .arithmetic = Arithmetic::Reduced});
            const double error = relativeError(reduced, exact);
            QVERIFY2(error < 2e-3, qPrintable(QString::number(error)));
            // Without a format that has reduced products nothing is reduced.
            QCOMPARE(error == 0, name == "kl-rows-f32");
        }
    }
};

QTEST_APPLESS_MAIN(TestRoutedExperts)
#include "tst_routed_experts.moc"
