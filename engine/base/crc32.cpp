#include "base/crc32.h"

#include <array>
#include <cstring>

namespace waste {
namespace {

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

// Slicing by eight: table k advances a byte over k further zero bytes.
constexpr Tables makeTables()
{
    Tables tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit)
            crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
        tables[0][byte] = crc;
    }
    for (std::size_t k = 1; k < 8; ++k) {
        for (std::size_t byte = 0; byte < 256; ++byte)
            tables[k][byte] = (tables[k - 1][byte] >> 8) ^ tables[0][tables[k - 1][byte] & 0xFFU];
    }
    return tables;
}

constexpr Tables kTables = makeTables();

} // namespace

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t previous)
{
    std::uint32_t crc = ~previous;
    const std::byte* data = bytes.data();
    std::size_t left = bytes.size();
    for (; left >= 8; data += 8, left -= 8) {
        std::uint32_t low = 0;
        std::uint32_t high = 0;
        std::memcpy(&low, data, 4);
        std::memcpy(&high, data + 4, 4);
        low ^= crc;
        crc = kTables[7][low & 0xFFU] ^ kTables[6][(low >> 8) & 0xFFU] ^ kTables[5][(low >> 16) & 0xFFU]
            ^ kTables[4][low >> 24] ^ kTables[3][high & 0xFFU] ^ kTables[2][(high >> 8) & 0xFFU]
            ^ kTables[1][(high >> 16) & 0xFFU] ^ kTables[0][high >> 24];
    }
    for (; left > 0; ++data, --left)
        crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<std::uint32_t>(*data)) & 0xFFU];
    return ~crc;
}

} // namespace waste
