#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace waste {

using TokenId = std::int32_t; // 0 ≤ id < vocabulary

// Asks long work to end. Set from any thread (also from a signal handler); polled once a layer, a
// record or a block. The work that sees it returns ErrorCode::Cancelled and leaves a resumable state.
class CancelFlag {
public:
    void cancel() { m_cancelled.store(true, std::memory_order_relaxed); }
    void reset() { m_cancelled.store(false, std::memory_order_relaxed); }
    [[nodiscard]] bool isCancelled() const { return m_cancelled.load(std::memory_order_relaxed); }

private:
    std::atomic<bool> m_cancelled = false;
};

// How far a long job is. `stage` is a stable word ("trunk", "experts", ...) that front ends translate.
struct Progress {
    std::string_view stage;
    std::uint64_t done = 0;
    std::uint64_t total = 0; // 0: not known
};
using ProgressSink = std::function<void(const Progress&)>;

enum class LogLevel : std::uint8_t { Detail, Information, Warning };
using LogSink = std::function<void(LogLevel, std::string_view message)>;

} // namespace waste
