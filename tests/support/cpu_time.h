#pragma once

#include <ctime>

namespace waste::test {

// Processor time of this process since it was made: a limit on it holds on a busy machine too.
class CpuTimer {
public:
    [[nodiscard]] double seconds() const { return static_cast<double>(std::clock() - m_start) / CLOCKS_PER_SEC; }

private:
    std::clock_t m_start = std::clock();
};

} // namespace waste::test
