#pragma once

#include "kernels/weight_views.h"
#include "waste/result.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <variant>

namespace waste {

// Matrices of one routed expert in the order gate (w1), up (w3), down (w2).
using VqExpert = std::array<kernels::VqMatrixView, 3>;
using DenseExpert = std::array<kernels::MatrixView, 3>;
using ExpertView = std::variant<VqExpert, DenseExpert>;

struct ExpertKey {
    std::uint16_t layer = 0;
    std::uint16_t expert = 0;
    friend bool operator==(ExpertKey, ExpertKey) = default;
};

// Where the feed-forward network gets experts from: the streaming cache, or matrices that are resident
// as f32. Placement decides speed and never results. Used by one thread at a time.
class ExpertSource {
public:
    // Keeps an expert's bytes in place. Move-only; released on destruction, before the source.
    class Pin {
    public:
        Pin() = default;
        Pin(ExpertSource* source, std::uint32_t slot, const ExpertView& view)
            : m_source(source)
            , m_slot(slot)
            , m_view(view)
        {
        }
        Pin(Pin&& other) noexcept
            : m_source(std::exchange(other.m_source, nullptr))
            , m_slot(other.m_slot)
            , m_view(other.m_view)
        {
        }
        Pin& operator=(Pin&& other) noexcept
        {
            if (this != &other) {
                release();
                m_source = std::exchange(other.m_source, nullptr);
                m_slot = other.m_slot;
                m_view = other.m_view;
            }
            return *this;
        }
        ~Pin() { release(); }
        [[nodiscard]] const ExpertView& view() const { return m_view; }

    private:
        void release()
        {
            if (m_source != nullptr)
                std::exchange(m_source, nullptr)->release(m_slot);
        }
        ExpertSource* m_source = nullptr;
        std::uint32_t m_slot = 0;
        ExpertView m_view;
    };

    virtual ~ExpertSource() = default;

    // An announced expert, in memory.
    struct Arrival {
        std::uint16_t expert = 0;
        Pin pin;
    };

    // Announces which experts of one layer will be acquired next (distinct, ascending), so that reads
    // can start. Replaces an earlier announcement. The list stays in place until its last expert has been
    // acquired.
    virtual void announce(std::uint16_t layer, std::span<const std::uint16_t> experts) = 0;

    // The next announced expert in order of arrival: each exactly once, those in memory first. Blocks only
    // while none has arrived. Call it holding no pin, or as many as one token has experts at most. Requires
    // that one is left. Errors: as acquire().
    virtual Result<Arrival> acquireNext() = 0;

    // The same, but never blocks: empty when none is left or has arrived, or none can arrive before a pin is
    // released.
    virtual Result<std::optional<Arrival>> tryAcquireNext() = 0;

    // Waits until acquireNext() would not wait for a read of somebody else; false if stopAwaiting() was called since
    // the last time. For who has other work to turn to.
    virtual bool awaitNext() { return true; }
    virtual void stopAwaiting() { } // any thread

    // How many guesses at the next layer would help now; 0: do not bother.
    [[nodiscard]] virtual std::uint32_t guessesWanted() = 0;

    // The same for what many tokens will choose together: that most of it will be announced is certain beforehand.
    [[nodiscard]] virtual std::uint32_t chunkGuessesWanted() { return 0; }

    // A guess at the next announcement, best first: may be read while the disk has nothing else to do. Another guess at
    // the same layer replaces what has not been begun. Wrong guesses cost time alone, and a read that fails is no
    // error.
    enum class GuessFor : std::uint8_t { Token, Chunk };
    virtual void prefetch(std::uint16_t layer, std::span<const std::uint16_t> experts, GuessFor guessFor) = 0;

    // One expert by its name, announced or not. Blocks until it is in memory. Errors: Io, Corrupt naming
    // layer, expert and file.
    virtual Result<Pin> acquire(ExpertKey key) = 0;

private:
    virtual void release(std::uint32_t slot) = 0;
};

} // namespace waste
