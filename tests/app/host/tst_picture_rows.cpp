// Looking at a picture is paid for once: by content and not by name, also after a restart, and never for a file that
// is another one now. With the built-in model; how often it looked is what its progress tells.

#include "host/chat_request.h"
#include "host/chat_session.h"
#include "host/picture_rows.h"
#include "host/rows_file.h"
#include "support/canvas.h"
#include "support/picture_formats.h"
#include "waste/files.h"
#include "waste/tokenizer.h"

#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <filesystem>

using namespace waste;
using namespace waste::host;
using test::Canvas;

namespace {

std::string drawing(Canvas::Shape shape, test::Colour colour)
{
    Canvas canvas(120, 90, {255, 255, 255, 255});
    canvas.draw(shape, colour, 60, 45, 35);
    return test::pngOf(canvas);
}

// A question about one of the pictures of the request.
std::string askAbout(char picture)
{
    return std::string("{'role':'user','content':[{'type':'image','image':{'path':'") + picture
        + "'}},{'type':'text','text':'What shape do you see?'}]}";
}

const std::string kCircle = drawing(Canvas::Shape::Circle, {200, 30, 30, 255});
const std::string kSquare = drawing(Canvas::Shape::Square, {30, 30, 200, 255});

} // namespace

class TestPictureRows : public QObject {
    Q_OBJECT

    std::unique_ptr<Engine> m_engine;
    QTemporaryDir m_folder;
    int m_looks = 0;

    std::filesystem::path write(const char* name, const std::string& bytes)
    {
        const std::filesystem::path path = m_folder.filePath(name).toStdString();
        if (!replaceFile(path, bytes))
            qFatal("cannot write %s", name);
        return path;
    }
    AttachedPicture attached(const char* name, const std::string& bytes, PictureDetail detail = PictureDetail::Full)
    {
        return {name, write(name, bytes), detail, {}};
    }
    // Rows of one picture as the engine reads them.
    std::vector<float> see(PictureRows& rows, const AttachedPicture& picture)
    {
        const auto shown = rows.show(picture);
        if (!shown) {
            qWarning("%s", shown.error().message.c_str());
            return {};
        }
        const std::vector<TokenId> ids(shown->picture.positionCount, shown->number);
        const auto input = rows.translate({}, ids, m_cancel,
            [this](std::string_view, std::uint64_t done, std::uint64_t) { m_looks += done == 1 ? 1 : 0; });
        return input ? input->rows : std::vector<float>();
    }
    static std::unique_ptr<ChatSession> chatWith(Engine& engine)
    {
        auto tokenizer = Tokenizer::open(WASTE_K3_MINI_CONTAINER, engine.container().info().endOfTextId);
        auto format = ChatFormat::open(WASTE_K3_MINI_CONTAINER, *tokenizer);
        auto session = engine.createSession();
        if (!session || !format)
            qFatal("no conversation");
        return std::make_unique<ChatSession>(engine, std::move(*session), *format, SamplingOptions());
    }
    int looks() { return std::exchange(m_looks, 0); }

    CancelFlag m_cancel;
    ReadingPace m_pace;

private Q_SLOTS:
    void initTestCase()
    {
        const auto container = Container::open(WASTE_K3_MINI_CONTAINER);
        QVERIFY(container);
        EngineOptions options;
        options.contextTokens = 512;
        options.conversationCount = 4;
        options.vision = VisionUse::WhenNeeded;
        auto engine = Engine::open(*container, options);
        QVERIFY(engine);
        m_engine = std::move(*engine);
        m_pace = ReadingPace(*m_engine);
        QCOMPARE(m_engine->visionFingerprint().size(), std::size_t{64});
    }
    void init() { m_looks = 0; }

    void oneContentIsLookedAtOnceUnderWhateverName()
    {
        PictureRows rows(*m_engine, m_pace);
        const auto first = see(rows, attached("a.png", kCircle));
        QVERIFY(!first.empty());
        QCOMPARE(looks(), 1);
        QVERIFY(see(rows, attached("b.png", kCircle)) == first);
        QCOMPARE(looks(), 0);
        QVERIFY(see(rows, attached("c.png", kSquare)) != first);
        QCOMPARE(looks(), 1);
        const auto half = see(rows, attached("a.png", kCircle, PictureDetail::Half));
        QVERIFY(half.size() < first.size());
        QCOMPARE(looks(), 1);
    }

    void aChangedFileIsAnotherPicture()
    {
        PictureRows rows(*m_engine, m_pace);
        const auto circle = see(rows, attached("a.png", kCircle));
        const auto square = see(rows, attached("a.png", kSquare));
        QCOMPARE(looks(), 2);
        QVERIFY(circle != square);
        QVERIFY(see(rows, attached("a.png", kCircle)) == circle);
        QCOMPARE(looks(), 0);
    }

    // Between the header that the prompt was made from and the look.
    void aFileThatChangesInTheMiddleIsRefused()
    {
        PictureRows rows(*m_engine, m_pace);
        const auto shown = rows.show(attached("a.png", kCircle));
        QVERIFY(shown);
        const std::vector<TokenId> ids(shown->picture.positionCount, shown->number);
        write("a.png", kSquare);
        const auto changed = rows.translate({}, ids, m_cancel, {});
        QVERIFY(!changed);
        QVERIFY(changed.error().message.find("a.png changed") != std::string::npos);
        std::filesystem::remove(m_folder.filePath("a.png").toStdString());
        const auto missing = rows.translate({}, ids, m_cancel, {});
        QVERIFY(!missing);
        QVERIFY(missing.error().message.find("a.png is no longer") != std::string::npos);
        QVERIFY(!see(rows, attached("a.png", kCircle)).empty()); // it came back
    }

    void aRestartDoesNotLookAgain()
    {
        AttachedPicture picture = attached("a.png", kCircle);
        picture.rowsFile = m_folder.filePath("a.rows").toStdString();
        std::vector<float> first;
        {
            PictureRows rows(*m_engine, m_pace);
            first = see(rows, picture);
            QCOMPARE(looks(), 1);
        }
        {
            PictureRows rows(*m_engine, m_pace);
            QVERIFY(see(rows, picture) == first);
            QCOMPARE(looks(), 0);
        }
        // Damage costs a look and nothing else, and is mended.
        auto kept = readFile(picture.rowsFile, 1 << 24);
        QVERIFY(kept);
        kept->back() = static_cast<char>(kept->back() ^ 1);
        QVERIFY(replaceFile(picture.rowsFile, *kept));
        for (const int expected : {1, 0}) {
            PictureRows rows(*m_engine, m_pace);
            QVERIFY(see(rows, picture) == first);
            QCOMPARE(looks(), expected);
        }
        // A place that cannot be written to is no reason to stay blind.
        picture.rowsFile = m_folder.filePath("missing/folder/a.rows").toStdString();
        PictureRows rows(*m_engine, m_pace);
        QVERIFY(see(rows, picture) == first);
    }

    // Whatever the model makes of two pictures, it is not the way they came to it: asked one after the other, all at
    // once, or one token at a time with exact kernels, what it says of the second is the same.
    void twoPicturesInOneConversationAreReadAsIfAtOnce()
    {
        const std::vector<AttachedPicture> pictures = {
            attached("a.png", kCircle), attached("b.png", drawing(Canvas::Shape::Triangle, {40, 160, 60, 255}))};
        const auto answer = [&](ChatSession& session, std::vector<std::string> messages) {
            AnswerRequest request;
            request.id = std::to_string(messages.size());
            for (std::string& message : messages)
                std::replace(message.begin(), message.end(), '\'', '"');
            request.messages = std::move(messages);
            request.pictures = pictures;
            request.thinking = false;
            request.sampling = SamplingOptions();
            std::string text;
            ChatSession::Callbacks callbacks;
            callbacks.reading = [](std::uint64_t, std::uint64_t) {};
            callbacks.began = [] {};
            callbacks.token = [](const TokenEvent&, bool) {};
            callbacks.text = [&text](const ReplyDelta& delta) { text += delta.content; };
            const ReplyEnded ended = session.answer(request, m_cancel, callbacks);
            return ended.reason == ReplyEnded::Reason::Done ? text : "failed: " + ended.error.message;
        };

        const auto steps = chatWith(*m_engine);
        const std::string first = answer(*steps, {askAbout('0')});
        QVERIFY2(first.find("circle") != std::string::npos, first.c_str());
        Message said;
        said.append(Block::Type::Text, first);
        const std::vector<std::string> all = {askAbout('0'), assistantMessage(said), askAbout('1')};
        const std::string second = answer(*steps, all);

        const auto atOnce = chatWith(*m_engine);
        QCOMPARE(QString::fromStdString(answer(*atOnce, all)), QString::fromStdString(second));
        EngineOptions options;
        options.contextTokens = 512;
        options.prefillChunkTokens = 1;
        options.exact = true;
        options.vision = VisionUse::FromTheStart;
        const auto exact = Engine::open(*Container::open(WASTE_K3_MINI_CONTAINER), options);
        QVERIFY(exact);
        const auto stepwise = chatWith(**exact);
        QCOMPARE(QString::fromStdString(answer(*stepwise, all)), QString::fromStdString(second));

        const auto alone = chatWith(*m_engine);
        const std::string only = answer(*alone, {askAbout('1')});
        QVERIFY2(only.find("triangle") != std::string::npos, only.c_str());
        qInfo("first: %s  second: %s  the second alone: %s", first.c_str(), second.c_str(), only.c_str());
    }

    void thePaceIsAnEstimateUntilItIsMeasured()
    {
        ReadingPace pace(*m_engine);
        const auto picture = Picture::inspect(m_engine->container(), std::as_bytes(std::span(kCircle)), "a.png");
        QVERIFY(picture);
        QVERIFY(picture->multiplyAdds > 0);
        QVERIFY(!pace.isMeasured());
        QVERIFY(pace.secondsFor(*picture) > 0);
        QVERIFY(pace.secondsToRead(2000) > pace.secondsToRead(1000));
        pace.noteReading(100, 50);
        pace.noteLooking(picture->multiplyAdds, 7);
        QVERIFY(pace.isMeasured());
        QCOMPARE(qRound(pace.secondsToRead(100)), 50);
        QCOMPARE(qRound(pace.secondsFor(*picture) - pace.secondsToRead(picture->positionCount)), 7);
        pace.noteReading(3, 1000); // too few to tell
        QCOMPARE(qRound(pace.secondsToRead(100)), 50);
        QCOMPARE(ReadingPace().secondsFor(*picture), 0.0);
    }
};

QTEST_GUILESS_MAIN(TestPictureRows)
#include "tst_picture_rows.moc"
