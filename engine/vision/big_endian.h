#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

namespace waste {

// `count` bytes of a picture file, 1 to 4, the most significant first. The caller has checked that they are there.
inline std::uint32_t readBigEndian(std::span<const std::byte> bytes, std::size_t offset, std::size_t count)
{
    assert(offset <= bytes.size() && count <= bytes.size() - offset);
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < count; ++i)
        value = (value << 8) | static_cast<std::uint32_t>(bytes[offset + i]);
    return value;
}

} // namespace waste
