#pragma once

#include <cmath>
#include <cstddef>
#include <span>

namespace waste {

// ‖W − R‖² and ‖W‖², from which relative Frobenius errors follow. Adds up over rows and matrices.
struct SquaredError {
    double difference = 0;
    double norm = 0;

    SquaredError& operator+=(const SquaredError& other)
    {
        difference += other.difference;
        norm += other.norm;
        return *this;
    }
    void add(float original, float decoded)
    {
        const double distance = static_cast<double>(original) - static_cast<double>(decoded);
        difference += distance * distance;
        norm += static_cast<double>(original) * static_cast<double>(original);
    }
    [[nodiscard]] double relative() const { return norm > 0 ? std::sqrt(difference / norm) : 0; }
    [[nodiscard]] bool isFinite() const { return std::isfinite(difference) && std::isfinite(norm); }
};

// In the order of the rows, so that the sum does not depend on who computed them.
inline SquaredError sumInOrder(std::span<const SquaredError> rows)
{
    SquaredError sum;
    for (const SquaredError& row : rows)
        sum += row;
    return sum;
}

} // namespace waste
