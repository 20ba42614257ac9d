// The window's model with everything behind it real: the built-in model, the store on disk, the threads. What
// QML does is called here by hand.

#include "desktop/app.h"

#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include <fstream>

using namespace waste;
using namespace waste::app;

namespace {

using State = MessageListModel::State;

App::Options optionsIn(const QTemporaryDir& folder)
{
    App::Options options;
    options.dataFolder = folder.path().toStdString() + "/data";
    options.configurationFolder = folder.path().toStdString() + "/configuration";
    options.model = WASTE_K3_MINI_CONTAINER;
    options.isBuiltInModel = true;
    return options;
}

State lastState(App& app)
{
    const auto& model = *app.chat()->messages();
    return model.data(model.index(model.rowCount() - 1), MessageListModel::StateRole).value<State>();
}

QString lastText(App& app)
{
    const auto& model = *app.chat()->messages();
    return model.data(model.index(model.rowCount() - 1), MessageListModel::PlainTextRole).toString();
}

} // namespace

class TestChatController : public QObject {
    Q_OBJECT

    // Asks and waits for the end of the answer.
    void ask(App& app, const QString& question)
    {
        QSignalSpy ended(app.chat(), &ChatController::answerEnded);
        app.chat()->ask(question);
        QVERIFY(!app.chat()->canSend());
        QVERIFY(ended.wait(60'000));
    }

private Q_SLOTS:
    void whatIsTypedWhileTheModelOpensMayBeSent()
    {
        const QTemporaryDir folder;
        App app(optionsIn(folder));
        const QSignalSpy contextIsTold(app.chat(), &ChatController::contextChanged);
        QVERIFY(app.chat()->isEmpty());
        app.chat()->setDraft("typed while it opens");
        QVERIFY(app.chat()->canSend());
        QTRY_COMPARE_WITH_TIMEOUT(app.status()->state(), StatusModel::State::Ready, 60'000);
        QCOMPARE(app.chat()->modelName(), QString("K3-mini"));
        QCOMPARE(app.chat()->contextTokens(), 4096);
        QVERIFY(contextIsTold.count() > 0);
    }

    // What the start page offers must not embarrass the model.
    void theSamplesAreAnsweredRight_data()
    {
        QTest::addColumn<int>("sample");
        QTest::addColumn<bool>("thinking");
        QTest::addColumn<QString>("expected");
        for (const bool thinking : {true, false}) {
            QTest::addRow("capital, thinking %d", thinking) << 0 << thinking << "Tokyo";
            QTest::addRow("expert, thinking %d", thinking) << 1 << thinking << "expert";
            QTest::addRow("table, thinking %d", thinking) << 2 << thinking << "35";
        }
    }

    void theSamplesAreAnsweredRight()
    {
        QFETCH(int, sample);
        QFETCH(bool, thinking);
        QFETCH(QString, expected);
        const QTemporaryDir folder;
        App app(optionsIn(folder));
        app.settings()->setThinking(thinking);
        QCOMPARE(app.chat()->samples().size(), 3);
        ask(app, app.chat()->samples().at(sample));
        QCOMPARE(lastState(app), State::Done);
        qInfo("%s -> %s", qPrintable(app.chat()->samples().at(sample)), qPrintable(lastText(app)));
        QVERIFY2(lastText(app).contains(expected, Qt::CaseInsensitive), qPrintable(lastText(app)));
    }

    void aConversationIsThereAgainAfterARestart()
    {
        const QTemporaryDir folder;
        QString first;
        QString id;
        {
            App app(optionsIn(folder));
            ask(app, "My name is Clara.");
            first = lastText(app);
            id = app.chat()->conversationId();
            QCOMPARE(app.chat()->title(), QString("My name is Clara."));
            QCOMPARE(app.conversations()->rowCount(), 1);
            app.chat()->newChat();
            QVERIFY(app.chat()->isEmpty());
            app.chat()->setDraft("half a thought");
        }
        App app(optionsIn(folder));
        QTRY_COMPARE(app.chat()->draft(), QString("half a thought"));
        QTRY_COMPARE(app.conversations()->rowCount(), 1);
        app.chat()->open(id);
        QTRY_COMPARE(app.chat()->conversationId(), id);
        QCOMPARE(app.chat()->messages()->rowCount(), 2);
        QCOMPARE(lastText(app), first);
        QTRY_VERIFY(app.chat()->isModelReady());
        ask(app, "What is my name?");
        QVERIFY2(lastText(app).contains("Clara"), qPrintable(lastText(app)));
        app.chat()->newChat(); // the unsent one
        QTRY_COMPARE(app.chat()->draft(), QString("half a thought"));
    }

    void aStoppedAnswerIsContinuedAndTriedAgain()
    {
        const QTemporaryDir folder;
        App app(optionsIn(folder));
        QSignalSpy ended(app.chat(), &ChatController::answerEnded);
        // The model takes a tenth of a second; now and then the answer is complete before it can be stopped.
        for (int attempt = 0; attempt < 50 && (attempt == 0 || lastState(app) != State::Stopped); ++attempt) {
            app.chat()->newChat();
            ended.clear();
            app.chat()->ask("Tell me a story about a dog.");
            while (lastText(app).isEmpty() && ended.isEmpty())
                QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
            app.chat()->stop();
            QVERIFY(!ended.isEmpty() || ended.wait(30'000));
        }
        QCOMPARE(lastState(app), State::Stopped);
        ended.clear();
        QCOMPARE(app.status()->state(), StatusModel::State::Stopped);
        const QString half = lastText(app);
        QVERIFY(app.chat()->canContinue());
        app.chat()->continueAnswer();
        QVERIFY(ended.wait(60'000));
        QCOMPARE(lastState(app), State::Done);
        QVERIFY(lastText(app).startsWith(half));
        const QString whole = lastText(app);

        QVERIFY(app.chat()->canRetry());
        app.chat()->tryAgain();
        QVERIFY(ended.wait(60'000));
        QCOMPARE(lastText(app), whole); // greedy
        auto& messages = *app.chat()->messages();
        const QModelIndex last = messages.index(messages.rowCount() - 1);
        QCOMPARE(messages.rowCount(), 2);
        QCOMPARE(messages.data(last, MessageListModel::SiblingIndexRole).toInt(), 2);
        app.chat()->showSibling(messages.data(last, MessageListModel::MessageIdRole).toString(), -1);
        QCOMPARE(messages.data(last, MessageListModel::SiblingIndexRole).toInt(), 1);
    }

    void anAnswerGoesOnWhileAnotherConversationIsShown()
    {
        const QTemporaryDir folder;
        App app(optionsIn(folder));
        ask(app, "What is the capital of Japan?");
        const QString other = app.chat()->conversationId();
        app.chat()->newChat();
        QSignalSpy ended(app.chat(), &ChatController::answerEnded);
        app.chat()->ask("Tell me a story about a dog.");
        const QString story = app.chat()->conversationId();
        app.chat()->open(other);
        QTRY_COMPARE(app.chat()->conversationId(), other);
        QCOMPARE(app.chat()->messages()->rowCount(), 2);
        QVERIFY(ended.size() == 1 || ended.wait(60'000));
        app.chat()->open(story);
        QTRY_COMPARE(app.chat()->conversationId(), story);
        QCOMPARE(lastState(app), State::Done);
        QVERIFY(lastText(app).size() > 40);
    }

    void whatCannotBeSavedIsNotAskedAndNotLost()
    {
        const QTemporaryDir folder;
        App::Options options = optionsIn(folder);
        std::ofstream(options.dataFolder) << "a file where the folder should be";
        App app(options);
        QTRY_VERIFY(app.chat()->isModelReady());
        app.chat()->ask("What is the capital of Japan?");
        QTRY_COMPARE(app.chat()->draft(), QString("What is the capital of Japan?"));
        QVERIFY(app.chat()->isEmpty());
        QVERIFY(!app.chat()->saveError().isEmpty());
        QCOMPARE(app.status()->state(), StatusModel::State::Ready);
        std::filesystem::remove(options.dataFolder);
        ask(app, "What is the capital of Japan?");
        QVERIFY(lastText(app).contains("Tokyo"));
        QVERIFY(app.chat()->saveError().isEmpty());
    }

    void aConversationThatAnotherWindowHoldsIsReadAndItsWriterNamed()
    {
        const QTemporaryDir folder;
        App first(optionsIn(folder));
        ask(first, "What is the capital of Japan?");
        App second(optionsIn(folder));
        QTRY_COMPARE(second.conversations()->rowCount(), 1);
        second.chat()->open(first.chat()->conversationId());
        QTRY_COMPARE(second.chat()->conversationId(), first.chat()->conversationId());
        QCOMPARE(lastText(second), lastText(first));
        QCOMPARE(second.chat()->readOnlyReason(), QString("WASTE Desktop is writing this conversation"));
        second.chat()->setDraft("And of China?");
        QCOMPARE(second.chat()->sendDisabledReason(), second.chat()->readOnlyReason());
    }

    void theNewChatOfAnotherWindowIsLeftToIt()
    {
        const QTemporaryDir folder;
        App first(optionsIn(folder));
        first.chat()->setDraft("half a thought");
        first.chat()->saveDraftNow();
        App second(optionsIn(folder));
        QTRY_VERIFY(second.chat()->isModelReady());
        second.chat()->open(first.chat()->conversationId()); // as start() does
        QTest::qWait(200);
        ask(second, "What is the capital of Japan?");
        QVERIFY(second.chat()->conversationId() != first.chat()->conversationId());
        second.chat()->newChat();
        QVERIFY(second.chat()->isEmpty());
        QVERIFY(second.chat()->readOnlyReason().isEmpty());
        QCOMPARE(second.chat()->draft(), QString());
    }

    void renamedAndRemovedConversationsAreSoAfterARestart()
    {
        const QTemporaryDir folder;
        QString id;
        {
            App app(optionsIn(folder));
            ask(app, "What is the capital of Japan?");
            id = app.chat()->conversationId();
            app.chat()->rename(id, "Japan");
            QCOMPARE(app.chat()->title(), QString("Japan"));
        }
        {
            App app(optionsIn(folder));
            QTRY_COMPARE(app.conversations()->rowCount(), 1);
            const auto& list = *app.conversations();
            QCOMPARE(list.data(list.index(0), ConversationListModel::TitleRole).toString(), QString("Japan"));
            app.chat()->remove(id);
            QCOMPARE(app.conversations()->rowCount(), 0);
            app.chat()->restore(id);
            QTRY_COMPARE(app.conversations()->rowCount(), 1);
            app.chat()->remove(id);
        }
        App app(optionsIn(folder));
        QTest::qWait(300);
        QCOMPARE(app.conversations()->rowCount(), 0);
    }
};

QTEST_MAIN(TestChatController)
#include "tst_chat_controller.moc"
