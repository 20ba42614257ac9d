#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace waste::benchmark {

// One line of the table. `limit` is what the machine allows in the same unit, measured in the same run;
// 0: none is known. `goalRatio` is the share of it that we want; 0: no goal yet.
struct Line {
    std::string name;
    double value = 0;
    std::string unit;
    double limit = 0;
    double goalRatio = 0;
};

class Table {
public:
    void add(Line line) { m_lines.push_back(std::move(line)); }
    void printText() const;
    void printJson() const; // one object a line

private:
    std::vector<Line> m_lines;
};

// Median seconds of one call, over at least `rounds` calls and a fifth of a second, after one warm-up.
template<typename Work>
double medianSeconds(int rounds, Work&& work)
{
    using Clock = std::chrono::steady_clock;
    work();
    std::vector<double> times;
    const auto begin = Clock::now();
    while (times.size() < static_cast<std::size_t>(rounds) || Clock::now() - begin < std::chrono::milliseconds(200)) {
        const auto start = Clock::now();
        work();
        times.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    }
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
    return times[times.size() / 2];
}

// What the machine reads from memory, GB/s: the limit of everything that is cached.
struct MemoryBandwidth {
    double oneThread = 0;
    double allThreads = 0;
};
MemoryBandwidth measureMemory(Table& table);
void measureKernels(Table& table, const MemoryBandwidth& memory);
void measureModel(Table& table);

} // namespace waste::benchmark
