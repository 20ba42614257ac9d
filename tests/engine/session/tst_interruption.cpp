// A run that is cut anywhere and goes on is the run that was never cut, to the bit; rolled back, it never was.

#include "session_fixture.h"

#include <fstream>

using namespace waste;
using namespace waste::test;

namespace {

// A prompt of several chunks, and a model with every feature: K3-mini pushes and mixes blocks.
constexpr std::uint32_t kChunk = 7;

GenerateOptions greedy(std::uint32_t tokensMax)
{
    GenerateOptions options;
    options.tokensMax = tokensMax;
    return options;
}

// Cancels when `countdown` more layers have been passed.
std::function<void(const LayerTrace&)> cancelAfter(int countdown, CancelFlag& flag)
{
    return [countdown, last = std::uint32_t{UINT32_MAX}, &flag](const LayerTrace& trace) mutable {
        if (trace.layer == last)
            return; // another position of the same chunk
        last = trace.layer;
        if (--countdown == 0)
            flag.cancel();
    };
}

struct Outcome {
    std::vector<float> logits;
    std::vector<TokenId> ids;
    std::vector<TokenId> tokens;

    explicit Outcome(Session& session)
        : logits(copyLogits(session))
        , ids(generateIds(session, greedy(6)))
        , tokens(session.tokens().begin(), session.tokens().end())
    {
    }
    [[nodiscard]] bool equals(const Outcome& other) const
    {
        return sameBits(logits, other.logits) && ids == other.ids && tokens == other.tokens;
    }
};

} // namespace

class TestInterruption : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase()
    {
        m_ids = textPrompts().front().ids; // 28: four chunks
        m_engine = openEngine(openModel("k3-mini"), {.chunkTokens = kChunk});
    }

    // Cut after each of the 8 layers of each of the 4 chunks; the last one is no cut any more.
    void finishesAPromptThatWasCutAtAnyLayer()
    {
        const std::unique_ptr<Session> session = openSession(*m_engine);
        WASTE_VERIFY_OK(session->append(m_ids));
        const Outcome expected(*session);
        QCOMPARE(expected.ids.size(), 6U);

        for (int cut = 1; cut < 32; ++cut) {
            session->reset();
            CancelFlag flag;
            AppendOptions options;
            options.cancel = &flag;
            options.layerSink = cancelAfter(cut, flag);
            const Status status = session->append(m_ids, options);
            QVERIFY(!status.has_value());
            QCOMPARE(status.error().code, ErrorCode::Cancelled);
            QVERIFY(session->isUnfinished());
            const auto chunk = static_cast<std::size_t>(cut) / 8;
            QCOMPARE(session->position(), std::uint64_t{chunk * kChunk});
            const auto unfinished = std::span(m_ids).subspan(chunk * kChunk, kChunk);
            QVERIFY(std::equal(unfinished.begin(), unfinished.end(), session->unfinishedIds().begin(),
                session->unfinishedIds().end()));

            WASTE_VERIFY_OK(session->append(std::span(m_ids).subspan((chunk + 1) * kChunk)));
            QVERIFY(!session->isUnfinished());
            QVERIFY2(Outcome(*session).equals(expected), qPrintable(QString::number(cut)));
        }
    }

    void finishesACutPromptBeforeItWrites()
    {
        const std::unique_ptr<Session> session = openSession(*m_engine);
        const auto ids = std::span(m_ids).first(kChunk);
        WASTE_VERIFY_OK(session->append(ids));
        const std::vector<TokenId> expected = generateIds(*session, greedy(6));
        session->reset();
        CancelFlag flag;
        AppendOptions options;
        options.cancel = &flag;
        options.layerSink = cancelAfter(3, flag);
        QVERIFY(!session->append(ids, options).has_value());
        QVERIFY(generateIds(*session, greedy(6)) == expected);
        QCOMPARE(session->position(), std::uint64_t{kChunk + 5});
    }

    // The tokens of a reply are cut after each of their layers.
    void finishesATokenThatWasCutAtAnyLayer()
    {
        const std::unique_ptr<Session> session = openSession(*m_engine);
        WASTE_VERIFY_OK(session->append(m_ids));
        const std::vector<TokenId> expected = generateIds(*session, greedy(6));
        const std::vector<float> logits = copyLogits(*session);

        for (int cut = 1; cut < 5 * 8; ++cut) {
            if (cut % 8 == 0)
                continue; // after the last layer there is nothing to cut
            session->reset();
            WASTE_VERIFY_OK(session->append(m_ids));
            CancelFlag flag;
            GenerateOptions options = greedy(6);
            options.cancel = &flag;
            options.layerSink = cancelAfter(cut, flag);
            std::vector<TokenId> ids;
            const Result<GenerateResult> result = session->generate(options, [&ids](const TokenEvent& event) {
                ids.push_back(event.id);
                return TokenAction::Continue;
            });
            QVERIFY(!result.has_value());
            QCOMPARE(result.error().code, ErrorCode::Cancelled);
            QVERIFY(session->isUnfinished());
            QCOMPARE(ids.size(), static_cast<std::size_t>(cut / 8) + 1);
            QCOMPARE(session->unfinishedIds()[0], ids.back());

            const std::vector<TokenId> rest = generateIds(*session, greedy(6 - static_cast<std::uint32_t>(ids.size())));
            ids.insert(ids.end(), rest.begin(), rest.end());
            QVERIFY2(ids == expected, qPrintable(QString::number(cut)));
            QVERIFY(sameBits(session->logits(), logits));
        }
    }

    void testsATokenThatWasCutAgainstTheStopIds()
    {
        const std::unique_ptr<Session> session = openSession(*m_engine);
        WASTE_VERIFY_OK(session->append(m_ids));
        CancelFlag flag;
        GenerateOptions options = greedy(6);
        options.cancel = &flag;
        options.layerSink = cancelAfter(8 + 3, flag);
        QVERIFY(!session->generate(options, {}).has_value());
        GenerateOptions again = greedy(6);
        again.stopIds = {session->unfinishedIds()[0]};
        GenerateResult result;
        QVERIFY(generateIds(*session, again, &result).empty());
        QCOMPARE(result.reason, FinishReason::StopId);

        // The last token of a cut prompt is no reply, whatever its id.
        session->reset();
        flag.reset();
        AppendOptions append;
        append.cancel = &flag;
        append.layerSink = cancelAfter(3, flag);
        QVERIFY(!session->append(std::span(m_ids).first(kChunk), append).has_value());
        again.stopIds = {m_ids[kChunk - 1]};
        QVERIFY(!generateIds(*session, again).empty());
    }

    void changesNothingWhenItIsCancelledBeforeItBegins()
    {
        const std::unique_ptr<Session> session = openSession(*m_engine);
        WASTE_VERIFY_OK(session->append(m_ids));
        const std::vector<float> logits = copyLogits(*session);
        CancelFlag flag;
        flag.cancel();
        AppendOptions options;
        options.cancel = &flag;
        QCOMPARE(session->append(m_ids, options).error().code, ErrorCode::Cancelled);
        GenerateOptions write = greedy(6);
        write.cancel = &flag;
        QCOMPARE(session->generate(write, {}).error().code, ErrorCode::Cancelled);
        QVERIFY(!session->isUnfinished());
        QVERIFY(!session->pendingToken().has_value());
        QVERIFY(sameBits(session->logits(), logits));
    }

    void rollsBackAsIfItHadNeverHappened()
    {
        const std::unique_ptr<Session> session = openSession(*m_engine);
        GenerateOptions sampled = greedy(5);
        sampled.sampling = {.temperature = 1.3, .topP = 1, .topK = 0, .minP = 0, .seed = 11};
        WASTE_VERIFY_OK(session->append(m_ids));
        QCOMPARE(generateIds(*session, sampled).size(), 5U);
        const std::optional<TokenId> pending = session->pendingToken();
        const std::vector<float> logits = copyLogits(*session);
        WASTE_VERIFY_OK(session->checkpoint());
        QCOMPARE(session->checkpointPosition(), std::optional(session->position()));
        const std::vector<TokenId> expected = generateIds(*session, sampled);
        const std::vector<float> expectedLogits = copyLogits(*session);

        // Twice, once after other text and once after a cut.
        for (const bool cut : {false, true}) {
            WASTE_VERIFY_OK(session->append(std::span(m_ids).first(20)));
            if (cut) {
                CancelFlag flag;
                AppendOptions options;
                options.cancel = &flag;
                options.layerSink = cancelAfter(13, flag);
                QVERIFY(!session->append(m_ids, options).has_value());
                QVERIFY(session->isUnfinished());
            }
            WASTE_VERIFY_OK(session->rollBack());
            QVERIFY(!session->isUnfinished());
            QCOMPARE(session->position(), std::uint64_t{m_ids.size() + 4});
            QVERIFY(session->pendingToken() == pending);
            QVERIFY(sameBits(session->logits(), logits));
            QVERIFY(generateIds(*session, sampled) == expected);
            QVERIFY(sameBits(session->logits(), expectedLogits));
        }
    }

    void beginsAnewWithoutACheckpoint()
    {
        const std::unique_ptr<Session> session = openSession(*m_engine);
        WASTE_VERIFY_OK(session->append(m_ids));
        const Outcome expected(*session);
        WASTE_VERIFY_OK(session->rollBack());
        QCOMPARE(session->position(), 0U);
        QVERIFY(session->logits().empty() && session->tokens().empty());
        WASTE_VERIFY_OK(session->append(m_ids));
        QVERIFY(Outcome(*session).equals(expected));
    }

    void forgetsTheCheckpointWhenItIsReset()
    {
        const std::unique_ptr<Session> session = openSession(*m_engine);
        WASTE_VERIFY_OK(session->append(m_ids));
        WASTE_VERIFY_OK(session->checkpoint());
        session->reset();
        QVERIFY(!session->checkpointPosition().has_value());
        WASTE_VERIFY_OK(session->rollBack());
        QCOMPARE(session->position(), 0U);
    }

    void cannotKeepOrSaveAnUnfinishedState()
    {
        const std::unique_ptr<Session> session = openSession(*m_engine);
        CancelFlag flag;
        AppendOptions options;
        options.cancel = &flag;
        options.layerSink = cancelAfter(2, flag);
        QVERIFY(!session->append(m_ids, options).has_value());
        QCOMPARE(session->checkpoint().error().code, ErrorCode::Busy);
        const QTemporaryDir folder;
        const std::filesystem::path file = std::filesystem::path(folder.path().toStdString()) / "state";
        QCOMPARE(session->save(file).error().code, ErrorCode::Busy);
        QVERIFY(!std::filesystem::exists(file));
    }

    // A record is damaged on disk, the token that needs it fails, the record is mended, the token goes on.
    void goesOnWhereAFailedReadCutAToken()
    {
        const std::string name = "kl-vq3r-q4g";
        const QTemporaryDir folder;
        const std::filesystem::path copy = std::filesystem::path(folder.path().toStdString()) / "copy.waste";
        std::filesystem::copy(modelPath(name), copy);
        const std::vector<TokenId> ids = samplePrompt(name);

        const std::unique_ptr<Engine> whole = openEngine(openModel(name), {.chunkTokens = kChunk});
        const std::unique_ptr<Session> uncut = openSession(*whole);
        WASTE_VERIFY_OK(uncut->append(ids));
        const Outcome expected(*uncut);

        const Result<std::shared_ptr<const Container>> container = Container::open(copy);
        WASTE_VERIFY_OK(container);
        const auto stride = static_cast<std::streamoff>((*container)->info().expertRecordBytes);
        int failures = 0;
        for (int layer = 1; layer <= 3; ++layer) {
            for (int expert = 0; expert < 6; ++expert) {
                // A new engine, so that nothing is cached.
                const std::unique_ptr<Engine> engine = openEngine(*container, {.chunkTokens = kChunk});
                const std::unique_ptr<Session> session = openSession(*engine);
                const std::filesystem::path bank = copy / ("experts-L" + std::to_string(layer) + ".bin");
                flipByte(bank, expert * stride);
                const Status status = session->append(ids);
                flipByte(bank, expert * stride);
                std::size_t done = ids.size();
                if (!status) {
                    ++failures;
                    QCOMPARE(status.error().code, ErrorCode::Corrupt);
                    const QString place = QString("expert %1 of layer %2").arg(expert).arg(layer);
                    QVERIFY(QString::fromStdString(status.error().message).contains(place));
                    QVERIFY(session->isUnfinished());
                    done = session->position() + session->unfinishedIds().size();
                }
                WASTE_VERIFY_OK(session->append(std::span(ids).subspan(done)));
                QVERIFY(Outcome(*session).equals(expected));
            }
        }
        QVERIFY(failures >= 9); // 24 tokens meet most of the 18 records
    }

private:
    static void flipByte(const std::filesystem::path& file, std::streamoff offset)
    {
        std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
        stream.seekg(offset);
        const char byte = static_cast<char>(stream.get());
        stream.seekp(offset);
        stream.put(static_cast<char>(byte ^ 1));
    }

    std::vector<TokenId> m_ids;
    std::unique_ptr<Engine> m_engine;
};

QTEST_GUILESS_MAIN(TestInterruption)
#include "tst_interruption.moc"
