#include "chat/reply_relay.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace waste::app {

namespace {

constexpr int kFrameMs = 16;
constexpr int kSlowIntervalMs = 250;
constexpr double kFastTokensPerSecond = 12; // three in each slow interval: words would come in bunches

// True if `event` went into the newest one.
bool joins(const host::EngineEvent& event, host::EngineEvent& newest)
{
    const auto* text = std::get_if<host::ReplyText>(&event);
    auto* before = std::get_if<host::ReplyText>(&newest);
    if (text == nullptr || before == nullptr || text->answerId != before->answerId || text->channel != before->channel)
        return false;
    before->text += text->text;
    return true;
}

} // namespace

ReplyRelay::ReplyRelay(QObject* parent)
    : QObject(parent)
    , m_intervalMs(kFrameMs)
{
    m_later.setSingleShot(true);
    m_later.setTimerType(Qt::PreciseTimer);
    connect(&m_later, &QTimer::timeout, this, &ReplyRelay::flush);
}

void ReplyRelay::push(host::EngineEvent event)
{
    {
        const std::lock_guard lock(m_mutex);
        // The state travels at the front: it may overtake text, which tells nothing about it.
        if (std::holds_alternative<host::EngineStatus>(event)) {
            if (m_pending.empty() || !std::holds_alternative<host::EngineStatus>(m_pending.front()))
                m_pending.insert(m_pending.begin(), std::move(event));
            else
                m_pending.front() = std::move(event);
        } else if (m_pending.empty() || !joins(event, m_pending.back())) {
            m_pending.push_back(std::move(event));
        }
        if (std::exchange(m_flushQueued, true))
            return;
    }
    QMetaObject::invokeMethod(this, &ReplyRelay::flush, Qt::QueuedConnection);
}

void ReplyRelay::flush()
{
    const qint64 elapsedMs = m_sinceFlush.isValid() ? m_sinceFlush.elapsed() : kSlowIntervalMs;
    if (elapsedMs < m_intervalMs) {
        m_later.start(static_cast<int>(m_intervalMs - elapsedMs));
        return;
    }
    m_sinceFlush.start();
    std::vector<host::EngineEvent> events;
    {
        const std::lock_guard lock(m_mutex);
        events = std::exchange(m_pending, {});
        m_flushQueued = false;
    }
    if (const auto* status = events.empty() ? nullptr : std::get_if<host::EngineStatus>(&events.front())) {
        const bool slow = status->tokensPerSecond > 0 && status->tokensPerSecond < kFastTokensPerSecond;
        m_intervalMs = slow ? kSlowIntervalMs : kFrameMs;
    }
    Q_EMIT arrived(events);
}

} // namespace waste::app
