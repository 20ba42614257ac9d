#include "chat/status_model.h"

#include "chat/message_text.h"

#include <QLocale>
#include <QTimerEvent>

#include <chrono>
#include <utility>

namespace waste::app {

namespace {

using Phase = host::EngineStatus::Phase;

constexpr int kClockMs = 1000;
constexpr qint64 kAnnouncementIntervalMs = 30'000;

qint64 elapsedMs(host::EngineStatus::Clock::time_point since)
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(host::EngineStatus::Clock::now() - since).count();
}

// RAM as on the module's label (binary, written GB).
QString ramText(quint64 bytes)
{
    const int digits = bytes >= (quint64{1} << 30) ? 1 : 0;
    return QLocale().formattedDataSize(static_cast<qint64>(bytes), digits, QLocale::DataSizeTraditionalFormat);
}

// What the budget is made of, in one line; the terminal needs less, and nobody should have to wonder why.
QString budgetParts(const host::EngineStatus& engine)
{
    const quint64 others = engine.pictureBytes + engine.programBytes;
    if (engine.pictureBytes == 0 || engine.budgetBytes <= others)
        return {};
    const auto size = [](quint64 bytes) { return ramText(bytes).replace(QChar::Space, QChar::Nbsp); };
    return StatusModel::tr("model %1, room for pictures %2, window %3")
        .arg(size(engine.budgetBytes - others), size(engine.pictureBytes), size(engine.programBytes));
}

// To the honest digit: an estimate never has seconds.
QString aboutText(std::chrono::milliseconds left)
{
    const qint64 seconds = left.count() / 1000;
    if (seconds < 60)
        return StatusModel::tr("less than a minute left");
    const qint64 minutes = (seconds + 30) / 60;
    if (minutes < 60)
        return minutes == 1 ? StatusModel::tr("about 1 min left") : StatusModel::tr("about %1 min left").arg(minutes);
    return StatusModel::tr("about %1 h %2 min left").arg(minutes / 60).arg(minutes % 60);
}

} // namespace

StatusModel::StatusModel(QObject* parent)
    : QObject(parent)
{
    refresh();
}

void StatusModel::setEngine(const host::EngineStatus& engine)
{
    m_engine = engine;
    if (isRunning() && !m_clock.isActive())
        m_clock.start(kClockMs, this);
    else if (!isRunning())
        m_clock.stop();
    refresh();
}

void StatusModel::setScreen(const Screen& screen)
{
    if (std::exchange(m_screen, screen) == screen)
        return;
    refresh();
    Q_EMIT changed(); // the actions may have
}

void StatusModel::setModelName(const QString& name)
{
    m_modelName = name;
    refresh();
}

QVariantList StatusModel::figures() const
{
    QVariantList list;
    for (const StatusFigure& figure : m_view.figures)
        list << QVariant::fromValue(figure);
    return list;
}

bool StatusModel::canStop() const
{
    switch (m_view.state) {
    case State::Opening:
        return true;
    case State::Queued:
        return m_screen.isQueued;
    case State::Looking:
    case State::Reading:
    case State::Thinking:
    case State::Answering:
        return m_screen.hasEngine;
    default:
        return false;
    }
}

bool StatusModel::isUnfinished() const
{
    return m_view.state == State::Stopped || m_view.state == State::Interrupted || m_view.state == State::Failed
        || (m_view.state == State::Queued && !m_screen.isQueued);
}

void StatusModel::timerEvent(QTimerEvent*)
{
    refresh();
}

void StatusModel::refresh()
{
    const State before = m_view.state;
    View fresh = view();
    if (fresh == m_view)
        return;
    m_view = std::move(fresh);
    Q_EMIT changed();
    announce(before);
}

void StatusModel::announce(State before)
{
    const int tenth = m_view.part < 0 ? -1 : static_cast<int>(m_view.part * 10);
    const bool due = m_announced.isValid() && m_announced.hasExpired(kAnnouncementIntervalMs);
    if (before == m_view.state && tenth == m_announcedTenth && !due && m_announced.isValid())
        return;
    m_announcedTenth = tenth;
    m_announced.start();
    QStringList parts{m_view.label};
    for (const StatusFigure& figure : std::as_const(m_view.figures))
        parts << figure.value + ' ' + figure.unit;
    if (!m_view.note.isEmpty())
        parts << m_view.note;
    m_announcement = parts.join(QStringLiteral(", "));
    Q_EMIT announcementChanged();
}

bool StatusModel::isRunning() const
{
    switch (m_engine.phase) {
    case Phase::Opening:
    case Phase::Looking:
    case Phase::Reading:
    case Phase::Thinking:
    case Phase::Answering:
    case Phase::Stopping:
        return true;
    default:
        return false;
    }
}

StatusModel::State StatusModel::currentState() const
{
    if (m_engine.phase == Phase::Opening)
        return State::Opening;
    if (m_screen.isQueued && !m_screen.hasEngine)
        return State::Queued;
    switch (m_engine.phase) {
    case Phase::Looking:
        return State::Looking;
    case Phase::Reading:
        return State::Reading;
    case Phase::Thinking:
        return State::Thinking;
    case Phase::Answering:
        return State::Answering;
    case Phase::Stopping:
        return State::Stopping;
    default:
        break;
    }
    if (m_engine.modelName.empty())
        return m_engine.phase == Phase::Failed ? State::Failed : State::NoModel;
    if (m_screen.lastState == MessageListModel::State::Queued)
        return State::Queued;
    if (m_screen.lastState == MessageListModel::State::Stopped)
        return State::Stopped;
    if (m_screen.lastState == MessageListModel::State::Interrupted)
        return State::Interrupted;
    if (m_screen.lastState == MessageListModel::State::Failed)
        return State::Failed;
    return State::Ready;
}

StatusModel::View StatusModel::view() const
{
    View view;
    view.state = currentState();
    if (isRunning())
        describeRunning(view);
    else
        describeResting(view);
    return view;
}

void StatusModel::describeRunning(View& view) const
{
    const StatusFigure elapsed{durationText(elapsedMs(m_engine.since)), tr("elapsed")};
    const StatusFigure tokens{countText(m_engine.tokenCount), m_engine.tokenCount == 1 ? tr("token") : tr("tokens")};
    const auto elsewhere = [this](const QString& here, const QString& there) {
        return m_screen.hasEngine ? here : there.arg(m_screen.runningTitle);
    };
    const auto amount = [&view, this](const QString& unit, auto text) {
        if (m_engine.total == 0)
            return;
        view.figures << StatusFigure{tr("%1 of %2").arg(text(m_engine.done), text(m_engine.total)), unit};
        view.part = static_cast<double>(m_engine.done) / static_cast<double>(m_engine.total);
    };
    switch (view.state) {
    case State::Opening:
        view.label = m_modelName.isEmpty() ? tr("Opening the model") : tr("Opening %1").arg(m_modelName);
        amount(QString(), ramText);
        view.figures << elapsed;
        break;
    case State::Queued:
        view.label = tr("Queued behind “%1”").arg(m_screen.runningTitle);
        break;
    case State::Looking:
        view.label = elsewhere(
            tr("Looking at %1").arg(QString::fromStdString(m_engine.pictureName)), tr("Looking at a picture in “%1”"));
        amount(tr("blocks"), countText);
        view.figures << elapsed;
        break;
    case State::Reading:
        view.label = elsewhere(tr("Reading your message"), tr("Reading “%1”"));
        amount(tr("tokens"), countText);
        view.figures << elapsed;
        if (m_engine.left.count() > 0)
            view.note = aboutText(m_engine.left);
        break;
    case State::Thinking:
    case State::Answering:
        view.label = view.state == State::Thinking ? elsewhere(tr("Thinking"), tr("Thinking in “%1”"))
                                                   : elsewhere(tr("Answering"), tr("Answering “%1”"));
        view.figures << tokens;
        if (m_engine.tokensPerSecond > 0)
            view.figures << StatusFigure{rateText(m_engine.tokensPerSecond), tr("tok/s")};
        view.figures << elapsed;
        if (m_engine.isPaging)
            view.note = tr("Short of memory: close other programs");
        break;
    case State::Stopping:
        view.label = tr("Stopping after this token");
        if (m_engine.tokensPerSecond > 0 && m_engine.tokensPerSecond < 1)
            view.note = tr("up to %1").arg(durationText(static_cast<qint64>(1000 / m_engine.tokensPerSecond)));
        break;
    default:
        break;
    }
}

void StatusModel::describeResting(View& view) const
{
    const auto lastAnswer = [this] {
        return StatusFigure{countText(m_screen.lastTokens), m_screen.lastTokens == 1 ? tr("token") : tr("tokens")};
    };
    switch (view.state) {
    case State::NoModel:
        view.label = tr("No model is open");
        break;
    case State::Queued:
        view.label = m_screen.isQueued ? tr("Queued") : tr("Not answered yet");
        view.note = m_screen.isQueued ? QString() : tr("Nothing restarts by itself");
        break;
    case State::Ready: {
        view.label = tr("Ready");
        if (m_engine.contextTokens == 0)
            break;
        view.figures << StatusFigure{ramText(m_engine.budgetBytes), tr("RAM budget")}
                     << StatusFigure{countText(m_engine.contextTokens), tr("tokens")}
                     << StatusFigure{
                            tr("%1 %").arg(qRound(100.0 * m_screen.usedTokens / m_engine.contextTokens)), tr("used")};
        view.note = budgetParts(m_engine);
        if (m_engine.visionBytes > 0)
            view.visionSize = ramText(m_engine.visionBytes);
        break;
    }
    case State::Stopped:
        view.label = m_screen.lastTokens > 0 ? tr("Stopped at") : tr("Stopped");
        if (m_screen.lastTokens > 0)
            view.figures << lastAnswer();
        break;
    case State::Interrupted:
        view.label = m_screen.lastTokens > 0 ? tr("Interrupted at") : tr("Interrupted");
        if (m_screen.lastTokens > 0)
            view.figures << lastAnswer();
        view.note = tr("Nothing restarts by itself");
        break;
    case State::Failed:
        view.label =
            m_engine.modelName.empty() ? tr("The model could not be opened") : tr("The answer was not finished");
        if (m_engine.modelName.empty())
            view.note = QString::fromStdString(m_engine.error.message);
        break;
    default:
        break;
    }
}

} // namespace waste::app
