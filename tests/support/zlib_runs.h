#pragma once

#include <cstdint>
#include <string>

namespace waste::test {

// A zlib stream (RFC 1950, 1951) of runs of equal bytes, in one block of the fixed code. Small for flat
// pictures of any size, and right for everything else.
class ZlibRuns {
public:
    void add(std::uint8_t value, std::uint64_t count = 1);
    std::string finish();

private:
    void putBits(std::uint32_t value, int count); // the lowest first
    void putCode(std::uint32_t code, int count); // of the Huffman code: the highest first
    void putSymbol(std::uint32_t symbol);
    void flushRun();

    std::string m_bytes = std::string("\x78\x01", 2);
    std::uint32_t m_bits = 0;
    int m_bitCount = 0;
    bool m_begun = false;
    std::uint8_t m_value = 0;
    std::uint64_t m_count = 0;
    std::uint64_t m_sum = 1; // Adler-32, both halves
    std::uint64_t m_sumOfSums = 0;
};

} // namespace waste::test
