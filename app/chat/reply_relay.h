#pragma once

#include "host/engine_events.h"

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>

#include <mutex>
#include <vector>

namespace waste::app {

// Brings the engine's events to the GUI thread: one queued call however many came, at most four a second at
// slow models and one per frame at fast ones. Texts of one answer are joined, and of several states only the
// newest arrives. push() from any thread; everything else on the GUI thread.
class ReplyRelay : public QObject {
    Q_OBJECT

public:
    explicit ReplyRelay(QObject* parent = nullptr);

    void push(host::EngineEvent event);

Q_SIGNALS:
    void arrived(const std::vector<waste::host::EngineEvent>& events);

private:
    void flush();

    std::mutex m_mutex; // guards the next two
    std::vector<host::EngineEvent> m_pending;
    bool m_flushQueued = false;

    QElapsedTimer m_sinceFlush;
    QTimer m_later;
    int m_intervalMs;
};

} // namespace waste::app
