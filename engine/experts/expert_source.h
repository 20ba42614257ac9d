#pragma once

#include "kernels/weight_views.h"
#include "waste/result.h"

#include <array>
#include <cstdint>
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

    // Announces which experts of one layer will be acquired next (distinct, ascending), so that reads
    // can start. Replaces an earlier announcement.
    virtual void announce(std::uint16_t layer, std::span<const std::uint16_t> experts) = 0;

    // Blocks until the expert is in memory. Errors: Io, Corrupt naming layer, expert and file.
    virtual Result<Pin> acquire(ExpertKey key) = 0;

private:
    virtual void release(std::uint32_t slot) = 0;
};

} // namespace waste
