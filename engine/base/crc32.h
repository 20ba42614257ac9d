#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace waste {

// CRC-32/ISO-HDLC, the one of zlib (spec: container 12). Continues from `previous`, so that
// crc32(b, crc32(a)) is the checksum of a followed by b.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t previous = 0);

} // namespace waste
