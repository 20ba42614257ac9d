#pragma once

#include "chat/message_list_model.h"
#include "host/engine_events.h"

#include <QBasicTimer>
#include <QElapsedTimer>
#include <QObject>
#include <QVariant>
#include <QtQml/qqmlregistration.h>

#include <optional>

namespace waste::app {

// One measured value and its unit, drawn in two faces.
class StatusFigure {
    Q_GADGET
    QML_VALUE_TYPE(statusFigure)
    Q_PROPERTY(QString value MEMBER value CONSTANT FINAL)
    Q_PROPERTY(QString unit MEMBER unit CONSTANT FINAL)

public:
    QString value;
    QString unit;
    bool operator==(const StatusFigure&) const = default;
};

// The strip between transcript and composer: what the engine really does, in words (spec: desktop 3.2).
// GUI thread only.
class StatusModel : public QObject {
    Q_OBJECT
    QML_ELEMENT
    QML_UNCREATABLE("Comes from App.")
    Q_PROPERTY(State state READ state NOTIFY changed FINAL)
    Q_PROPERTY(QString label READ label NOTIFY changed FINAL) // "Answering"
    Q_PROPERTY(QVariantList figures READ figures NOTIFY changed FINAL) // of StatusFigure
    Q_PROPERTY(QString note READ note NOTIFY changed FINAL) // prose at the right end
    Q_PROPERTY(double part READ part NOTIFY changed FINAL) // 0 to 1 where the end is known, else −1
    Q_PROPERTY(bool canStop READ canStop NOTIFY changed FINAL)
    Q_PROPERTY(bool canContinue READ canContinue NOTIFY changed FINAL)
    Q_PROPERTY(bool canRetry READ canRetry NOTIFY changed FINAL)
    // "578 MB" while the model rests with its vision tower in memory, which ChatController.releaseVision() gives back.
    Q_PROPERTY(QString visionSize READ visionSize NOTIFY changed FINAL)
    // The whole strip as one sentence for screen readers, renewed at most every 30 s, every 10 %, and
    // whenever the state changes.
    Q_PROPERTY(QString announcement READ announcement NOTIFY announcementChanged FINAL)

public:
    enum class State {
        NoModel,
        Opening,
        Ready,
        Queued,
        Looking,
        Reading,
        Thinking,
        Answering,
        Stopping,
        Stopped,
        Interrupted,
        Failed
    };
    Q_ENUM(State)

    // What the strip must know of the conversation on screen.
    struct Screen {
        bool hasEngine = false; // the answer that the engine works on belongs to it
        bool isQueued = false; // its own answer waits
        QString runningTitle; // of the conversation that the engine works on
        std::optional<MessageListModel::State> lastState; // of its last message
        quint64 lastTokens = 0; // of that answer
        int usedTokens = 0; // of the context, by this conversation
        bool canContinue = false;
        bool canRetry = false;
        bool operator==(const Screen&) const = default;
    };

    explicit StatusModel(QObject* parent = nullptr);

    void setEngine(const host::EngineStatus& engine);
    void setScreen(const Screen& screen);
    void setModelName(const QString& name);

    [[nodiscard]] State state() const { return m_view.state; }
    [[nodiscard]] QString label() const { return m_view.label; }
    [[nodiscard]] QVariantList figures() const;
    [[nodiscard]] QString note() const { return m_view.note; }
    [[nodiscard]] double part() const { return m_view.part; }
    [[nodiscard]] bool canStop() const;
    [[nodiscard]] bool canContinue() const { return isUnfinished() && m_screen.canContinue; }
    [[nodiscard]] bool canRetry() const { return isUnfinished() && m_screen.canRetry; }
    [[nodiscard]] QString visionSize() const { return m_view.visionSize; }
    [[nodiscard]] QString announcement() const { return m_announcement; }

Q_SIGNALS:
    void changed();
    void announcementChanged();

protected:
    void timerEvent(QTimerEvent* event) override;

private:
    struct View {
        State state = State::NoModel;
        QString label;
        QList<StatusFigure> figures;
        QString note;
        double part = -1;
        QString visionSize;
        bool operator==(const View&) const = default;
    };
    void refresh();
    void announce(State before);
    [[nodiscard]] State currentState() const;
    [[nodiscard]] View view() const;
    void describeRunning(View& view) const;
    void describeResting(View& view) const;
    [[nodiscard]] bool isRunning() const; // the engine works on something
    [[nodiscard]] bool isUnfinished() const; // the last answer on screen could go on

    host::EngineStatus m_engine;
    Screen m_screen;
    QString m_modelName;
    View m_view;
    QString m_announcement;
    QElapsedTimer m_announced;
    int m_announcedTenth = -1;
    QBasicTimer m_clock; // renews elapsed times while something runs
};

} // namespace waste::app
