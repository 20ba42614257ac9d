#include "support/zlib_runs.h"

#include <algorithm>

namespace waste::test {

namespace {

constexpr std::uint64_t kAdler = 65521;
constexpr std::uint64_t kMatchMax = 258;

} // namespace

void ZlibRuns::add(std::uint8_t value, std::uint64_t count)
{
    if (value != m_value)
        flushRun();
    m_value = value;
    m_count += count;
    for (std::uint64_t rest = count; rest > 0;) {
        const std::uint64_t n = std::min<std::uint64_t>(rest, kAdler); // keeps the products small
        m_sumOfSums = (m_sumOfSums + n * m_sum + value * (n * (n + 1) / 2)) % kAdler;
        m_sum = (m_sum + value * n) % kAdler;
        rest -= n;
    }
}

std::string ZlibRuns::finish()
{
    flushRun();
    if (!m_begun)
        putBits(0b011, 3);
    putSymbol(256);
    putBits(0, (8 - m_bitCount) % 8);
    for (const std::uint64_t half : {m_sumOfSums, m_sum}) {
        m_bytes += static_cast<char>(half >> 8);
        m_bytes += static_cast<char>(half & 0xFF);
    }
    return std::move(m_bytes);
}

// One literal, then copies from one byte back.
void ZlibRuns::flushRun()
{
    if (m_count == 0)
        return;
    if (!m_begun)
        putBits(0b011, 3); // the last block, fixed code
    m_begun = true;
    putSymbol(m_value);
    std::uint64_t rest = m_count - 1;
    for (; rest >= kMatchMax; rest -= kMatchMax) {
        putSymbol(285);
        putCode(0, 5); // distance 1
    }
    for (; rest > 0; --rest)
        putSymbol(m_value);
    m_count = 0;
}

void ZlibRuns::putSymbol(std::uint32_t symbol)
{
    if (symbol < 144)
        putCode(0x30 + symbol, 8);
    else if (symbol < 256)
        putCode(0x190 + symbol - 144, 9);
    else if (symbol < 280)
        putCode(symbol - 256, 7);
    else
        putCode(0xC0 + symbol - 280, 8);
}

void ZlibRuns::putCode(std::uint32_t code, int count)
{
    for (int bit = count - 1; bit >= 0; --bit)
        putBits((code >> bit) & 1, 1);
}

void ZlibRuns::putBits(std::uint32_t value, int count)
{
    m_bits |= value << m_bitCount;
    m_bitCount += count;
    for (; m_bitCount >= 8; m_bitCount -= 8, m_bits >>= 8)
        m_bytes += static_cast<char>(m_bits & 0xFF);
}

} // namespace waste::test
