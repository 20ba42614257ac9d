#include "memory/reservation.h"

#include <string>

namespace waste {

Result<Reservation> Budget::reserve(std::uint64_t bytes, std::string_view purpose)
{
    std::uint64_t reserved = reservedBytes();
    do {
        const std::uint64_t left = m_capacityBytes - reserved;
        if (bytes > left) {
            return Error{ErrorCode::RamBudget, "ram_budget",
                std::string(purpose) + " needs " + std::to_string(bytes) + " bytes, but only " + std::to_string(left)
                    + " of the budget are left"};
        }
    } while (!m_reservedBytes.compare_exchange_weak(reserved, reserved + bytes, std::memory_order_relaxed));
    return Reservation(this, bytes);
}

Reservation::~Reservation()
{
    if (m_budget != nullptr)
        m_budget->m_reservedBytes.fetch_sub(m_bytes, std::memory_order_relaxed);
}

} // namespace waste
