#pragma once

#include "experts/expert_source.h"
#include "waste/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace waste {

// What the cache wants read, as its readers see it. Thread-safe; nothing here blocks.
class ReadQueue {
public:
    struct Job {
        ExpertKey key;
        std::uint32_t slot = 0;
        std::span<std::byte> target; // one record
    };

    // The most urgent read that nobody has begun: what was announced before what was guessed. Whoever takes
    // it carries it out and reports back; empty: nothing to do until wake().
    virtual std::optional<Job> beginRead() = 0;
    virtual void endRead(const Job& job, Status status) = 0;
    // Whether there is something to begin that cannot wait, and whether a read under way is only a guess.
    [[nodiscard]] virtual bool hasUrgentRead() const = 0;
    [[nodiscard]] virtual bool isGuess(const Job& job) const = 0;

protected:
    ~ReadQueue() = default;
};

// Whoever carries the reads out, on threads of its own that end with it, the reads under way finished.
class RecordReader {
public:
    virtual ~RecordReader() = default;
    // There is something new in the queue. Any thread; never blocks.
    virtual void wake() = 0;
};

} // namespace waste
