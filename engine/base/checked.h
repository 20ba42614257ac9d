#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

namespace waste {

// Sums and products of sizes that come from files. Empty on overflow.
template<typename T>
    requires std::is_unsigned_v<T>
std::optional<T> checkedAdd(T a, T b)
{
    T sum = 0;
    if (__builtin_add_overflow(a, b, &sum))
        return std::nullopt;
    return sum;
}

template<typename T>
    requires std::is_unsigned_v<T>
std::optional<T> checkedMultiply(T a, T b)
{
    T product = 0;
    if (__builtin_mul_overflow(a, b, &product))
        return std::nullopt;
    return product;
}

template<typename T>
    requires std::is_unsigned_v<T>
constexpr T ceilDivide(T value, T divisor)
{
    return value / divisor + (value % divisor != 0 ? 1 : 0);
}

template<typename T>
    requires std::is_unsigned_v<T>
constexpr T roundUp(T value, T multiple)
{
    return ceilDivide(value, multiple) * multiple;
}

} // namespace waste
