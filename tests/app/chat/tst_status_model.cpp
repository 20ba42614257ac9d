// The strip says what the engine does, for the conversation on screen, in words and measured figures.

#include "chat/status_model.h"

#include <QLocale>
#include <QSignalSpy>
#include <QTest>

using namespace waste;
using namespace waste::app;

namespace {

using Phase = host::EngineStatus::Phase;
using State = StatusModel::State;

host::EngineStatus engine(Phase phase)
{
    host::EngineStatus status;
    status.phase = phase;
    status.modelName = "kimi-k3";
    status.contextTokens = 4096;
    status.budgetBytes = std::uint64_t{46} << 30;
    status.since = host::EngineStatus::Clock::now() - std::chrono::seconds(389);
    return status;
}

StatusModel::Screen here()
{
    StatusModel::Screen screen;
    screen.hasEngine = true;
    screen.isQueued = true;
    return screen;
}

QString sentence(const StatusModel& model)
{
    QStringList parts{model.label()};
    for (const QVariant& figure : model.figures()) {
        const auto [value, unit] = figure.value<StatusFigure>();
        parts << (value + ' ' + unit).trimmed();
    }
    if (!model.note().isEmpty())
        parts << "(" + model.note() + ")";
    return parts.join(" | ");
}

} // namespace

class TestStatusModel : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates)); }

    void everyStateHasItsWords()
    {
        StatusModel model;
        QCOMPARE(sentence(model), QString("No model is open"));
        model.setModelName("Kimi K3");

        host::EngineStatus status = engine(Phase::Opening);
        status.done = std::uint64_t{71} << 29; // 35.5 GB
        status.total = std::uint64_t{71} << 30;
        model.setEngine(status);
        QCOMPARE(sentence(model), QString("Opening Kimi K3 | 35.5 GB of 71.0 GB | 6:29 elapsed"));
        QCOMPARE(model.part(), 0.5);
        QVERIFY(model.canStop());

        status = engine(Phase::Ready);
        model.setEngine(status);
        StatusModel::Screen screen;
        screen.usedTokens = 1270;
        model.setScreen(screen);
        QCOMPARE(sentence(model), QString("Ready | 46.0 GB RAM budget | 4,096 tokens | 31 % used"));
        status.pictureBytes = std::uint64_t{579} << 20;
        status.programBytes = std::uint64_t{300} << 20;
        model.setEngine(status);
        QString note = model.note(); // with spaces that no line breaks at
        QCOMPARE(note.count(QChar::Nbsp), 3);
        QCOMPARE(
            note.replace(QChar::Nbsp, QChar::Space), QString("model 45.1 GB, room for pictures 579 MB, window 300 MB"));
        QVERIFY(!model.canStop());

        status = engine(Phase::Reading);
        status.done = 412;
        status.total = 1012;
        status.left = std::chrono::minutes(21);
        model.setScreen(here());
        model.setEngine(status);
        QCOMPARE(sentence(model),
            QString("Reading your message | 412 of 1,012 tokens | 6:29 elapsed | (about 21 min left)"));
        QVERIFY(model.canStop());

        status = engine(Phase::Thinking);
        status.tokenCount = 88;
        status.tokensPerSecond = 0.52;
        model.setEngine(status);
        QCOMPARE(sentence(model), QString("Thinking | 88 tokens | 0.52 tok/s | 6:29 elapsed"));

        status.phase = Phase::Answering;
        status.tokenCount = 1;
        model.setEngine(status);
        QCOMPARE(sentence(model), QString("Answering | 1 token | 0.52 tok/s | 6:29 elapsed"));
        status.isPaging = true;
        model.setEngine(status);
        QCOMPARE(sentence(model),
            QString("Answering | 1 token | 0.52 tok/s | 6:29 elapsed | (Short of memory: close other programs)"));
        status.isPaging = false;

        status.phase = Phase::Stopping;
        status.tokensPerSecond = 0.25;
        model.setEngine(status);
        QCOMPARE(sentence(model), QString("Stopping after this token | (up to 4.0 s)"));
        QVERIFY(!model.canStop());

        screen = {};
        screen.lastState = MessageListModel::State::Stopped;
        screen.lastTokens = 214;
        screen.canContinue = true;
        model.setScreen(screen);
        model.setEngine(engine(Phase::Stopped));
        QCOMPARE(sentence(model), QString("Stopped at | 214 tokens"));
        QVERIFY(model.canContinue());

        screen.lastState = MessageListModel::State::Interrupted;
        model.setScreen(screen);
        QCOMPARE(sentence(model), QString("Interrupted at | 214 tokens | (Nothing restarts by itself)"));

        status = engine(Phase::Failed);
        status.modelName.clear();
        status.error.message = "there is no model at /x";
        model.setEngine(status);
        QCOMPARE(model.state(), State::Failed);
        QCOMPARE(sentence(model), QString("The model could not be opened | (there is no model at /x)"));
    }

    void anAnswerElsewhereIsNamed()
    {
        StatusModel model;
        StatusModel::Screen screen;
        screen.runningTitle = "Holiday plan";
        model.setScreen(screen);
        host::EngineStatus status = engine(Phase::Answering);
        status.tokenCount = 5;
        model.setEngine(status);
        QVERIFY(sentence(model).startsWith(QString::fromUtf8("Answering “Holiday plan” | 5 tokens")));
        QVERIFY(!model.canStop()); // it is stopped where it is read
        screen.isQueued = true;
        model.setScreen(screen);
        QCOMPARE(model.state(), State::Queued);
        QCOMPARE(model.label(), QString::fromUtf8("Queued behind “Holiday plan”"));
        QVERIFY(model.canStop());
    }

    void changesAreToldOnlyWhenThereAreAny()
    {
        StatusModel model;
        QSignalSpy changes(&model, &StatusModel::changed);
        model.setEngine(engine(Phase::Ready));
        QCOMPARE(changes.size(), 1);
        model.setEngine(engine(Phase::Ready));
        QCOMPARE(changes.size(), 1);
    }

    void screenReadersHearStatesAndTenthsAndNotEveryToken()
    {
        StatusModel model;
        model.setScreen(here());
        QSignalSpy announcements(&model, &StatusModel::announcementChanged);
        host::EngineStatus status = engine(Phase::Reading);
        status.total = 1000;
        for (status.done = 0; status.done < 1000; ++status.done)
            model.setEngine(status);
        QCOMPARE(announcements.size(), 10);
        QVERIFY(model.announcement().startsWith("Reading your message, 900 of 1,000 tokens"));
        status.phase = Phase::Answering;
        for (int i = 0; i < 500; ++i) {
            ++status.tokenCount;
            model.setEngine(status);
        }
        QCOMPARE(announcements.size(), 11);
    }

    void elapsedTimeGoesOnByItself()
    {
        StatusModel model;
        model.setScreen(here());
        model.setEngine(engine(Phase::Answering));
        QSignalSpy changes(&model, &StatusModel::changed);
        QTRY_VERIFY_WITH_TIMEOUT(changes.size() >= 2, 4000);
    }
};

QTEST_GUILESS_MAIN(TestStatusModel)
#include "tst_status_model.moc"
