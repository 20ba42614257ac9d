// A conversation that went through a file goes on as if it never had, to the bit; a file that is not exactly
// right changes nothing.

#include "session_fixture.h"

#include <fstream>
#include <iterator>

using namespace waste;
using namespace waste::test;

namespace {

GenerateOptions greedy(std::uint32_t tokensMax)
{
    GenerateOptions options;
    options.tokensMax = tokensMax;
    return options;
}

GenerateOptions sampled(std::uint32_t tokensMax)
{
    GenerateOptions options = greedy(tokensMax);
    options.sampling = {.temperature = 1.2, .topP = 0.98, .topK = 50, .minP = 0.001, .seed = 99};
    return options;
}

std::vector<char> readAll(const std::filesystem::path& path)
{
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

void writeAll(const std::filesystem::path& path, const std::vector<char>& bytes)
{
    std::ofstream stream(path, std::ios::binary | std::ios::trunc);
    stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

} // namespace

class TestSavedState : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void goesOnAsIfNothingHadHappened_data()
    {
        QTest::addColumn<QString>("model");
        QTest::addColumn<bool>("random");
        for (const char* model : {"k3-mini", "kl-mini", "k3-odd", "kl-vq4p-mixed"}) {
            QTest::addRow("%s, greedy", model) << QString(model) << false;
            QTest::addRow("%s, sampled", model) << QString(model) << true;
        }
    }

    void goesOnAsIfNothingHadHappened()
    {
        QFETCH(const QString, model);
        QFETCH(const bool, random);
        const std::string name = model.toStdString();
        const auto options = random ? sampled : greedy;
        const std::unique_ptr<Engine> engine = openEngine(openModel(name));
        const std::unique_ptr<Session> session = openSession(*engine);
        WASTE_VERIFY_OK(session->append(samplePrompt(name)));
        QCOMPARE(generateIds(*session, options(9)).size(), 9U);
        WASTE_VERIFY_OK(session->save(path()));
        const std::vector<TokenId> tokens(session->tokens().begin(), session->tokens().end());
        const std::optional<TokenId> pending = session->pendingToken();
        const std::vector<TokenId> expected = generateIds(*session, options(20));
        const std::vector<float> logits = copyLogits(*session);

        // In the same session, and in another engine with another context, chunk size and cache.
        WASTE_VERIFY_OK(session->append(std::vector<TokenId>{1, 2, 3}));
        const std::unique_ptr<Engine> other =
            openEngine(openModel(name), {.contextTokens = 700, .threadCount = 2, .chunkTokens = 3});
        const std::unique_ptr<Session> elsewhere = openSession(*other);
        for (Session* target : {session.get(), elsewhere.get()}) {
            WASTE_VERIFY_OK(target->restore(path()));
            QVERIFY(std::equal(tokens.begin(), tokens.end(), target->tokens().begin(), target->tokens().end()));
            QVERIFY(target->pendingToken() == pending);
            QVERIFY(generateIds(*target, options(20)) == expected);
            QVERIFY(sameBits(target->logits(), logits));
        }
    }

    void savesAStateWithoutAnyToken()
    {
        const std::unique_ptr<Session> session = openSession(engine());
        WASTE_VERIFY_OK(session->save(path()));
        WASTE_VERIFY_OK(session->append(prompt()));
        WASTE_VERIFY_OK(session->restore(path()));
        QCOMPARE(session->position(), 0U);
        QVERIFY(session->logits().empty());
        QVERIFY(!session->pendingToken().has_value());
    }

    void writesTheSameFileAgainButForTheTime()
    {
        const std::unique_ptr<Session> session = openSession(engine());
        WASTE_VERIFY_OK(session->append(prompt()));
        QCOMPARE(generateIds(*session, sampled(5)).size(), 5U);
        WASTE_VERIFY_OK(session->save(path()));
        std::vector<char> first = readAll(path());
        WASTE_VERIFY_OK(session->restore(path()));
        WASTE_VERIFY_OK(session->save(path()));
        std::vector<char> second = readAll(path());
        QCOMPARE(first.size(), second.size());
        const auto differences = std::inner_product(first.begin(), first.end(), second.begin(), std::size_t{0},
            std::plus<>(), [](char a, char b) -> std::size_t { return a == b ? 0 : 1; });
        QVERIFY(differences <= 4 + 4 + 19); // two checksums and the digits of the time
    }

    void forgetsTheCheckpointWhenItRestores()
    {
        const std::unique_ptr<Session> session = openSession(engine());
        WASTE_VERIFY_OK(session->append(prompt()));
        WASTE_VERIFY_OK(session->checkpoint());
        WASTE_VERIFY_OK(session->save(path()));
        WASTE_VERIFY_OK(session->restore(path()));
        QVERIFY(!session->checkpointPosition().has_value());
    }

    void replacesAnUnfinishedState()
    {
        const std::unique_ptr<Session> session = openSession(engine());
        WASTE_VERIFY_OK(session->append(prompt()));
        const std::vector<float> logits = copyLogits(*session);
        WASTE_VERIFY_OK(session->save(path()));
        CancelFlag flag;
        AppendOptions options;
        options.cancel = &flag;
        options.layerSink = [&flag](const LayerTrace&) { flag.cancel(); };
        QVERIFY(!session->append(prompt(), options).has_value());
        QVERIFY(session->isUnfinished());
        WASTE_VERIFY_OK(session->restore(path()));
        QVERIFY(!session->isUnfinished());
        QVERIFY(sameBits(session->logits(), logits));
    }

    void remembersWhichPositionsArePictures()
    {
        const std::filesystem::path folder = std::filesystem::path(WASTE_TEST_DATA) / "k3-mini";
        for (const auto& value : readJson(folder / "prompts.json")["prompts"].toArray()) {
            const QJsonObject picturePrompt = value.toObject();
            const QJsonArray images = picturePrompt["images"].toArray();
            if (images.isEmpty())
                continue;
            const std::vector<TokenId> ids = idsFromJson(picturePrompt["ids"].toArray());
            const std::unique_ptr<Engine> small = openEngine(openModel("k3-mini"), {.chunkTokens = 16});
            const std::unique_ptr<Session> session = openSession(*small);
            const auto places = std::count(ids.begin(), ids.end(), openModel("k3-mini")->info().mediaPlaceholderId);
            const std::vector<float> rows(static_cast<std::size_t>(places) * 256, 0.01F);
            AppendOptions options;
            options.pictureRows = rows;
            WASTE_VERIFY_OK(session->append(ids, options));
            WASTE_VERIFY_OK(session->save(path()));
            const std::vector<char> bytes = readAll(path());
            const std::string text(bytes.begin(), bytes.end());
            const auto first = std::find(ids.begin(), ids.end(), openModel("k3-mini")->info().mediaPlaceholderId);
            const std::string expected = "\"images\":[{\"count\":" + std::to_string(places)
                + ",\"position\":" + std::to_string(first - ids.begin()) + "}]";
            QVERIFY(text.find(expected) != std::string::npos);
        }
    }

    // One bit of every region of the file; the byte-by-byte proof is tst_state_file's.
    void leavesTheLiveStateAloneWhenTheFileIsDamaged()
    {
        const std::unique_ptr<Session> session = openSession(engine());
        WASTE_VERIFY_OK(session->append(prompt()));
        WASTE_VERIFY_OK(session->save(path()));
        const std::vector<char> bytes = readAll(path());
        WASTE_VERIFY_OK(session->append(prompt()));
        QCOMPARE(generateIds(*session, greedy(3)).size(), 3U);
        WASTE_VERIFY_OK(session->save(path())); // what the session must still be afterwards
        WASTE_VERIFY_OK(session->checkpoint());
        const std::vector<float> logits = copyLogits(*session);
        const std::vector<TokenId> tokens(session->tokens().begin(), session->tokens().end());

        const std::filesystem::path damaged = path().parent_path() / "damaged";
        for (std::size_t i = 0; i < bytes.size(); i += 1009) {
            std::vector<char> copy = bytes;
            copy[i] = static_cast<char>(copy[i] ^ 4);
            writeAll(damaged, copy);
            const Status status = session->restore(damaged);
            QVERIFY2(!status.has_value(), qPrintable(QString::number(i)));
            QCOMPARE(status.error().reason, std::string("damaged"));
        }
        for (const std::size_t size : {std::size_t{0}, std::size_t{4095}, bytes.size() - 1, bytes.size() + 1}) {
            std::vector<char> copy = bytes;
            copy.resize(size);
            writeAll(damaged, copy);
            QCOMPARE(session->restore(damaged).error().reason, std::string("damaged"));
        }
        QCOMPARE(session->restore(path().parent_path() / "nothing").error().code, ErrorCode::NotFound);

        QVERIFY(sameBits(session->logits(), logits));
        QVERIFY(std::equal(tokens.begin(), tokens.end(), session->tokens().begin(), session->tokens().end()));
        QVERIFY(session->checkpointPosition().has_value());
        const std::vector<TokenId> ids = generateIds(*session, greedy(10));
        WASTE_VERIFY_OK(session->restore(path()));
        QVERIFY(generateIds(*session, greedy(10)) == ids);
    }

    void refusesTheStateOfAnotherModel()
    {
        // Same family, same shapes, other numbers.
        const std::unique_ptr<Engine> source = openEngine(openModel("kl-vq3r-q4g"));
        const std::unique_ptr<Session> session = openSession(*source);
        WASTE_VERIFY_OK(session->append(samplePrompt("kl-vq3r-q4g")));
        WASTE_VERIFY_OK(session->save(path()));
        for (const char* name : {"kl-vq2r-q8g", "kl-vq4p-mixed", "k3-odd", "k3-mini"}) {
            const std::unique_ptr<Engine> other = openEngine(openModel(name));
            const std::unique_ptr<Session> target = openSession(*other);
            const Status status = target->restore(path());
            QVERIFY(!status.has_value());
            QCOMPARE(status.error().code, ErrorCode::Corrupt);
            QCOMPARE(status.error().reason, std::string("other_model"));
        }
    }

    void refusesAStateThatIsLongerThanTheContext()
    {
        const std::unique_ptr<Session> session = openSession(engine());
        WASTE_VERIFY_OK(session->append(prompt()));
        WASTE_VERIFY_OK(session->save(path()));
        const auto length = static_cast<std::uint32_t>(prompt().size());
        const std::unique_ptr<Engine> narrow = openEngine(openModel("k3-mini"), {.contextTokens = length});
        const std::unique_ptr<Session> target = openSession(*narrow);
        const Status status = target->restore(path());
        QVERIFY(!status.has_value());
        QCOMPARE(status.error().code, ErrorCode::InvalidArgument);
        const QString message = QString::fromStdString(status.error().message);
        QVERIFY(message.contains(QString::number(length + 1)) && message.contains("MiB"));
    }

    void keepsTheOldFileWhenSavingFails()
    {
        const std::unique_ptr<Session> session = openSession(engine());
        WASTE_VERIFY_OK(session->append(prompt()));
        const Status status = session->save(path().parent_path() / "no" / "such" / "folder");
        QVERIFY(!status.has_value());
        QVERIFY(!session->isUnfinished());
        QCOMPARE(generateIds(*session, greedy(3)).size(), 3U);
    }

private:
    static Engine& engine()
    {
        static const std::unique_ptr<Engine> engine = openEngine(openModel("k3-mini"));
        return *engine;
    }
    static std::vector<TokenId> prompt() { return textPrompts().front().ids; }
    [[nodiscard]] std::filesystem::path path() const
    {
        return std::filesystem::path(m_folder.path().toStdString()) / "state";
    }

    QTemporaryDir m_folder;
};

QTEST_GUILESS_MAIN(TestSavedState)
#include "tst_saved_state.moc"
