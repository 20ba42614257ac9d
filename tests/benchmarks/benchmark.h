#pragma once

#include "waste/result.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace waste::benchmark {

// One line of the table. `limit` is what the machine allows in the same unit, measured in the same run; 0: none is
// known. A value without a limit may have a `reference` in its place: another line of this run, or what a rule allows.
// The ratio is value to limit or reference, or the inverse where less is better, so that more of it is always better;
// `goalRatio` is what we want of it, 0: no goal.
struct Line {
    std::string name;
    double value = 0;
    std::string unit;
    double limit = 0;
    double goalRatio = 0;
    bool lessIsBetter = false;
    double reference = 0;

    // Empty: there is nothing to compare with.
    [[nodiscard]] std::optional<double> ratio() const
    {
        const double other = limit > 0 ? limit : reference;
        if (other <= 0)
            return std::nullopt;
        return lessIsBetter ? other / value : value / other;
    }
};

// Prints each line as soon as it is measured.
class Table {
public:
    enum class Form : std::uint8_t { Text, Json };

    explicit Table(Form form);
    void add(const Line& line);
    void note(const std::string& text) const; // for people; on standard error

private:
    const Form m_form;
};

// Seconds of the fastest of at least `rounds` calls over at least a fifth of a second, after one warm-up. On a
// machine that does other things as well the fastest call is the one that was disturbed least.
template<typename Work>
double bestSeconds(int rounds, Work&& work)
{
    using Clock = std::chrono::steady_clock;
    work();
    double best = 1e9;
    const auto begin = Clock::now();
    for (int round = 0; round < rounds || Clock::now() - begin < std::chrono::milliseconds(200); ++round) {
        const auto start = Clock::now();
        work();
        best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
    }
    return best;
}

// What the machine reads from memory: the limit of everything that is cached.
struct MemoryBandwidth {
    double oneThread = 0; // GB/s
    double allThreads = 0;
};
MemoryBandwidth measureMemory(Table& table);
// GB/s of all threads once more, 0 if there is no memory to read: neighbours on the machine take their share now and
// then, so a long run is measured against the better of before and after.
double memoryRateOfAllThreads();
// A size of cache to replay with, and the percentage of hits that the default policy should reach with nothing guessed;
// 0: no goal.
struct RouteSlots {
    std::uint32_t count = 0;
    double ageGoal = 0;
};
// Of recorded routes, one JSON line a token (`waste bench --record-routes`). No slots: those of a few tokens.
void measureRoutes(Table& table, const std::filesystem::path& file, const std::vector<RouteSlots>& slots);
void measureKernels(Table& table, const MemoryBandwidth& memory);
void measureVision(Table& table);
// One expert of Kimi K3 is written to `folder` and read from there.
void measureConversion(Table& table, const std::filesystem::path& folder);
// Conversions of the built-in model, which stay in `folder`.
void measureQuality(Table& table, const std::filesystem::path& folder);
void measureReduced(Table& table, const std::filesystem::path& folder);

} // namespace waste::benchmark
