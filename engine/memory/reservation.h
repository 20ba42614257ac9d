#pragma once

#include "waste/result.h"

#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>

namespace waste {

class Reservation;

// Counts how much of one budget is spoken for. Any thread; outlives its reservations.
class Budget {
public:
    explicit Budget(std::uint64_t capacityBytes)
        : m_capacityBytes(capacityBytes)
    {
    }
    Budget(const Budget&) = delete;
    Budget& operator=(const Budget&) = delete;

    // Errors: RamBudget, naming the purpose, what it needs and what is left.
    Result<Reservation> reserve(std::uint64_t bytes, std::string_view purpose);

    [[nodiscard]] std::uint64_t capacityBytes() const { return m_capacityBytes; }
    [[nodiscard]] std::uint64_t reservedBytes() const { return m_reservedBytes.load(std::memory_order_relaxed); }

private:
    friend class Reservation;

    const std::uint64_t m_capacityBytes;
    std::atomic<std::uint64_t> m_reservedBytes = 0; // a count, publishes nothing else
};

// A part of a budget; gives it back on destruction. Move-only.
class Reservation {
public:
    Reservation() = default;
    Reservation(Reservation&& other) noexcept
        : m_budget(std::exchange(other.m_budget, nullptr))
        , m_bytes(std::exchange(other.m_bytes, 0))
    {
    }
    Reservation& operator=(Reservation&& other) noexcept
    {
        std::swap(m_budget, other.m_budget);
        std::swap(m_bytes, other.m_bytes);
        return *this;
    }
    ~Reservation();

    [[nodiscard]] std::uint64_t bytes() const { return m_bytes; }

private:
    friend class Budget;
    Reservation(Budget* budget, std::uint64_t bytes)
        : m_budget(budget)
        , m_bytes(bytes)
    {
    }

    Budget* m_budget = nullptr;
    std::uint64_t m_bytes = 0;
};

} // namespace waste
