// The cache over recorded routes of a real model: hit rate per policy and number of slots beside the optimum, which
// knows the future (Belady). Nothing is timed and nothing read.

#include "benchmark.h"

#include "experts/expert_cache.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>

namespace waste::benchmark {
namespace {

constexpr RecordStore::Grid kGrid{.firstLayer = 1, .layerCount = 26, .expertCount = 256, .recordBytes = 4096};
constexpr std::uint32_t kExpertsPerToken = 8;

using Experts = std::vector<std::uint16_t>;

// [tokens · layers]
std::vector<Experts> readRoutes(const std::string& fileName)
{
    std::vector<Experts> routes;
    std::ifstream file(fileName);
    for (std::string line; std::getline(file, line);) {
        const auto token = nlohmann::json::parse(line, nullptr, false);
        if (!token.is_object())
            continue;
        for (const auto& layer : token.at("layers"))
            routes.push_back(layer.get<Experts>());
    }
    return routes;
}

// Records without content.
class EmptyRecords final : public RecordStore {
public:
    [[nodiscard]] const Grid& grid() const override { return kGrid; }
    [[nodiscard]] bool isDirect() const override { return true; }
    Status read(ExpertKey, std::span<std::byte>) const override { return {}; }
    [[nodiscard]] Place place(ExpertKey) const override { return {}; }
    [[nodiscard]] Status check(ExpertKey, std::span<const std::byte>) const override { return {}; }
    [[nodiscard]] ExpertView view(ExpertKey, std::span<const std::byte>) const override { return {}; }
};

// Guesses at a layer's experts that are right as often as those of Kimi K3's routers, rank by rank (spec: model 11).
class MeasuredGuesses {
public:
    Experts guess(const Experts& experts, std::size_t count)
    {
        static constexpr std::array<double, 8> kRight = {0.92, 0.88, 0.84, 0.80, 0.75, 0.70, 0.64, 0.61};
        Experts right = experts;
        std::shuffle(right.begin(), right.end(), m_random);
        Experts guesses;
        for (std::size_t rank = 0; rank < count; ++rank) {
            const bool isRight = std::uniform_real_distribution<>(0, 1)(m_random) < kRight[rank];
            guesses.push_back(isRight ? right[rank] : static_cast<std::uint16_t>(m_random() % kGrid.expertCount));
        }
        return guesses;
    }

private:
    std::mt19937 m_random{1};
};

struct Replay {
    double hitPercent = 0;
    double readsPerToken = 0;
};

std::optional<Replay> replay(
    const std::vector<Experts>& routes, std::uint32_t slotCount, CachePolicy policy, std::uint32_t guesses)
{
    const auto cache = ExpertCache::create(std::make_unique<EmptyRecords>(),
        {.slotCount = slotCount,
            .expertsPerToken = kExpertsPerToken,
            .readerCount = guesses > 0 ? 1U : 0U,
            .policy = policy,
            .guesses = guesses});
    if (!cache)
        return std::nullopt;
    MeasuredGuesses measured;
    for (std::size_t i = 0; i < routes.size(); ++i) {
        const auto layer = static_cast<std::uint16_t>(kGrid.firstLayer + i % kGrid.layerCount);
        (*cache)->announce(layer, routes[i]);
        for (std::size_t expert = 0; expert < routes[i].size(); ++expert) {
            if (!(*cache)->acquireNext())
                return std::nullopt;
        }
        if (guesses > 0 && layer + 1 < kGrid.firstLayer + kGrid.layerCount) {
            (*cache)->prefetch(static_cast<std::uint16_t>(layer + 1), measured.guess(routes[i + 1], guesses),
                ExpertSource::GuessFor::Token);
            (*cache)->waitUntilIdle(); // a window as long as the guesses need
        }
    }
    const CacheStatistics statistics = (*cache)->statistics();
    const double accesses = static_cast<double>(statistics.hits + statistics.misses);
    const double tokens = static_cast<double>(routes.size()) / kGrid.layerCount;
    return Replay{
        100 * static_cast<double>(statistics.hits) / accesses, static_cast<double>(statistics.readsIssued) / tokens};
}

// Whoever is needed last leaves.
double optimalHitPercent(const std::vector<Experts>& routes, std::size_t slotCount)
{
    const std::size_t recordCount = std::size_t{kGrid.layerCount} * kGrid.expertCount;
    std::vector<std::vector<std::size_t>> uses(recordCount); // places in the route, latest first
    const auto recordOf = [](std::size_t place, std::uint16_t expert) {
        return place % kGrid.layerCount * kGrid.expertCount + expert;
    };
    for (std::size_t i = routes.size(); i-- > 0;) {
        for (const std::uint16_t expert : routes[i])
            uses[recordOf(i, expert)].push_back(i);
    }
    std::vector<std::size_t> slots;
    std::vector<bool> isCached(recordCount);
    const auto isNeededEarlier = [&](std::size_t a, std::size_t b) {
        return !uses[a].empty() && (uses[b].empty() || uses[a].back() < uses[b].back());
    };
    std::size_t hits = 0;
    std::size_t accesses = 0;
    for (std::size_t i = 0; i < routes.size(); ++i) {
        for (const std::uint16_t expert : routes[i]) {
            const std::size_t record = recordOf(i, expert);
            uses[record].pop_back();
            ++accesses;
            hits += isCached[record] ? 1 : 0;
            if (isCached[record])
                continue;
            isCached[record] = true;
            if (slots.size() < slotCount) {
                slots.push_back(record);
                continue;
            }
            const auto last = std::max_element(slots.begin(), slots.end(), isNeededEarlier);
            isCached[*last] = false;
            *last = record;
        }
    }
    return 100 * static_cast<double>(hits) / static_cast<double>(accesses);
}

} // namespace

void measureRoutes(Table& table, const std::string& fileName)
{
    const std::vector<Experts> routes = readRoutes(fileName);
    if (routes.empty() || routes.size() % kGrid.layerCount != 0) {
        table.note("routes: there are none in " + fileName);
        return;
    }
    struct Policy {
        const char* name;
        CachePolicy policy;
        std::uint32_t guesses;
        std::array<double, 4> goals;
    };
    const Policy policies[] = {{"age", CachePolicy::Age, 0, {31, 45, 59.5, 73.8}}, {"lfru", CachePolicy::Lfru, 0, {}},
        {"lru", CachePolicy::Lru, 0, {}}, {"age, lookahead 2", CachePolicy::Age, 2, {}},
        {"age, lookahead 4", CachePolicy::Age, 4, {}}, {"age, lookahead 6", CachePolicy::Age, 6, {}}};
    const std::array<std::uint32_t, 4> budgets = {201, 402, 805, 1610};
    for (std::size_t i = 0; i < budgets.size(); ++i) {
        const double optimum = optimalHitPercent(routes, budgets[i]);
        for (const Policy& policy : policies) {
            const std::optional<Replay> result = replay(routes, budgets[i], policy.policy, policy.guesses);
            if (!result)
                return;
            const std::string name =
                "routes, " + std::string(policy.name) + ", " + std::to_string(budgets[i]) + " slots";
            table.add({name + ", hits", result->hitPercent, "%", optimum, policy.goals[i] / optimum});
            if (policy.guesses > 0)
                table.add({name + ", records read", result->readsPerToken, "a token"});
        }
    }
}

} // namespace waste::benchmark
