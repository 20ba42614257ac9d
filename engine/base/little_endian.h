#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace waste {

static_assert(std::endian::native == std::endian::little, "file formats are read and written in place");

// Reads a number at a byte offset, whatever its alignment. The caller has checked the range.
template<typename T>
    requires std::is_trivially_copyable_v<T>
T loadLittle(std::span<const std::byte> bytes, std::size_t offset)
{
    assert(offset <= bytes.size() && sizeof(T) <= bytes.size() - offset);
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}

template<typename T>
    requires std::is_trivially_copyable_v<T>
void storeLittle(std::span<std::byte> bytes, std::size_t offset, T value)
{
    assert(offset <= bytes.size() && sizeof(T) <= bytes.size() - offset);
    std::memcpy(bytes.data() + offset, &value, sizeof(T));
}

} // namespace waste
