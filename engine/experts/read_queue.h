#pragma once

#include "experts/expert_source.h"
#include "experts/record_store.h"
#include "waste/result.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace waste {

// What the cache wants read, as its readers see it. Thread-safe; nothing here blocks.
class ReadQueue {
public:
    struct Job {
        ExpertKey key;
        std::uint32_t slot = 0;
        std::span<std::byte> target; // one record
    };

    enum class Wanted : std::uint8_t { Nothing, AnnouncedOnly, Anything };
    using Room = std::array<Wanted, RecordStore::kDrivesMax>; // by drive: one that is busy keeps no other one waiting

    // The most urgent read that nobody has begun and there is room for: what was announced before what was
    // guessed. Whoever takes it carries it out and reports back; empty: nothing to do until wake(), or until there is
    // room on another drive.
    virtual std::optional<Job> beginRead(const Room& room) = 0;
    virtual void endRead(const Job& job, Status status) = 0;

protected:
    ~ReadQueue() = default;
};

// Whoever carries the reads out, on threads of its own that end with it, the reads under way finished.
class RecordReader {
public:
    virtual ~RecordReader() = default;
    // There is something new in the queue. Any thread; never blocks.
    virtual void wake() = 0;
    [[nodiscard]] virtual std::string_view name() const = 0;
};

} // namespace waste
