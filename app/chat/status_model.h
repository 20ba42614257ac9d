#pragma once

#include <QObject>
#include <QVariant>
#include <QtQml/qqmlregistration.h>

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
    // The whole strip as one sentence for screen readers, renewed at most every 30 s, every 10 %, and
    // whenever the state changes.
    Q_PROPERTY(QString announcement READ announcement NOTIFY announcementChanged FINAL)

public:
    enum class State {
        NoModel,
        Opening,
        Ready,
        Queued,
        Reading,
        Thinking,
        Answering,
        Stopping,
        Stopped,
        Interrupted,
        Failed
    };
    Q_ENUM(State)
};

} // namespace waste::app
