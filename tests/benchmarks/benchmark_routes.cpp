// The cache over recorded routes: hit rate per policy, guesses and number of slots, beside the optimum, which knows the
// future. Nothing is timed and nothing read.

#include "benchmark.h"

#include "experts/expert_cache.h"
#include "recorded_routes.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>

namespace waste::benchmark {
namespace {

using Experts = RecordedRoutes::Experts;

constexpr std::uint32_t kGuessCounts[] = {0, 2, 4, 6};

// Records without content.
class EmptyRecords final : public RecordStore {
public:
    explicit EmptyRecords(const Grid& grid)
        : m_grid(grid)
    {
    }
    [[nodiscard]] const Grid& grid() const override { return m_grid; }
    [[nodiscard]] bool isDirect() const override { return true; }
    Status read(ExpertKey, std::span<std::byte>) const override { return {}; }
    [[nodiscard]] Place place(ExpertKey) const override { return {}; }
    [[nodiscard]] Status check(ExpertKey, std::span<const std::byte>) const override { return {}; }
    [[nodiscard]] ExpertView view(ExpertKey, std::span<const std::byte>) const override { return {}; }

private:
    const Grid m_grid;
};

// Guesses at a layer's experts that are right as often as those of Kimi K3's routers, rank by rank (spec: model 11).
// The same ones for every policy.
class MeasuredGuesses {
public:
    explicit MeasuredGuesses(std::uint32_t expertCount)
        : m_expertCount(expertCount)
    {
    }
    Experts guess(const Experts& experts, std::size_t count)
    {
        static constexpr std::array<double, 8> kRight = {0.92, 0.88, 0.84, 0.80, 0.75, 0.70, 0.64, 0.61};
        Experts right = experts;
        std::shuffle(right.begin(), right.end(), m_random);
        Experts guesses;
        for (std::size_t rank = 0; rank < count; ++rank) {
            const bool isRight = std::uniform_real_distribution<>(0, 1)(m_random) < kRight[rank];
            guesses.push_back(isRight ? right[rank] : static_cast<std::uint16_t>(m_random() % m_expertCount));
        }
        return guesses;
    }

private:
    const std::uint32_t m_expertCount;
    std::mt19937 m_random{1};
};

struct Replay {
    double hitPercent = 0;
    double readsPerToken = 0;
};

Result<Replay> replay(const RecordedRoutes& routes, std::uint32_t slotCount, CachePolicy policy, std::uint32_t guesses)
{
    const RecordStore::Grid& grid = routes.grid;
    WASTE_TRY(const auto cache,
        ExpertCache::create(std::make_unique<EmptyRecords>(grid),
            {.slotCount = slotCount,
                .expertsPerToken = routes.expertsPerToken(),
                .readerCount = guesses > 0 ? 1U : 0U,
                .policy = policy,
                .guesses = guesses}));
    MeasuredGuesses measured(grid.expertCount);
    for (std::size_t i = 0; i < routes.choices.size(); ++i) {
        const auto layer = static_cast<std::uint16_t>(i % grid.layerCount);
        cache->announce(layer, routes.choices[i]);
        for (std::size_t expert = 0; expert < routes.choices[i].size(); ++expert) {
            WASTE_TRY(const ExpertSource::Arrival arrival, cache->acquireNext());
        }
        if (guesses > 0 && layer + 1 < grid.layerCount) {
            cache->prefetch(static_cast<std::uint16_t>(layer + 1), measured.guess(routes.choices[i + 1], guesses),
                ExpertSource::GuessFor::Token);
            cache->waitUntilIdle(); // a window as long as the guesses need
        }
    }
    const CacheStatistics statistics = cache->statistics();
    const double accesses = static_cast<double>(statistics.hits + statistics.misses);
    return Replay{100 * static_cast<double>(statistics.hits) / accesses,
        static_cast<double>(statistics.readsIssued) / static_cast<double>(routes.tokenCount())};
}

struct Policy {
    const char* name;
    CachePolicy policy;
};
constexpr Policy kPolicies[] = {{"age", CachePolicy::Age}, {"lfru", CachePolicy::Lfru}, {"lru", CachePolicy::Lru}};

Status measureSlots(Table& table, const RecordedRoutes& routes, std::uint32_t slotCount, double ageGoal)
{
    const double accesses = static_cast<double>(routes.accessCount());
    const double mostHits = static_cast<double>(routes.mostHits(slotCount));
    const double optimum = 100 * mostHits / accesses;
    const double leastReads = (accesses - mostHits) / static_cast<double>(routes.tokenCount());
    for (const std::uint32_t guesses : kGuessCounts) {
        if (guesses > routes.expertsPerToken())
            continue; // more than a layer has right ones
        for (const Policy& policy : kPolicies) {
            WASTE_TRY(const Replay result, replay(routes, slotCount, policy.policy, guesses));
            const std::string name = "routes, " + std::string(policy.name)
                + (guesses > 0 ? ", lookahead " + std::to_string(guesses) : "") + ", " + std::to_string(slotCount)
                + " slots";
            // The optimum is that of demand alone: guesses may hit more often, and never read less.
            if (guesses == 0) {
                const double goal = policy.policy == CachePolicy::Age ? ageGoal / optimum : 0;
                table.add({name + ", hits", result.hitPercent, "%", optimum, goal});
            } else {
                table.add({name + ", hits", result.hitPercent, "%"});
                table.add({name + ", records read", result.readsPerToken, "a token", leastReads, 0, true});
            }
        }
    }
    return {};
}

// Room for the choices of 1, 2, 4 and 8 tokens, as far as that is not everything.
std::vector<RouteSlots> usualSlots(const RecordedRoutes& routes)
{
    const std::uint32_t perToken = routes.grid.layerCount * routes.expertsPerToken();
    std::vector<RouteSlots> slots;
    for (std::uint32_t tokens = 1; tokens <= 8; tokens *= 2) {
        if (tokens * perToken < routes.grid.layerCount * routes.grid.expertCount)
            slots.push_back({tokens * perToken});
    }
    return slots;
}

Status measure(Table& table, const std::filesystem::path& file, std::vector<RouteSlots> slots)
{
    WASTE_TRY(const RecordedRoutes routes, RecordedRoutes::load(file));
    if (slots.empty())
        slots = usualSlots(routes);
    table.note("routes: " + std::to_string(routes.tokenCount()) + " tokens, " + std::to_string(routes.grid.layerCount)
        + " layers, " + std::to_string(routes.expertsPerToken()) + " of " + std::to_string(routes.grid.expertCount)
        + " experts and more");
    for (const RouteSlots& room : slots) {
        WASTE_TRY_STATUS(measureSlots(table, routes, room.count, room.ageGoal));
    }
    return {};
}

} // namespace

void measureRoutes(Table& table, const std::filesystem::path& file, const std::vector<RouteSlots>& slots)
{
    if (const Status status = measure(table, file, slots); !status)
        table.note(status.error().message);
}

} // namespace waste::benchmark
