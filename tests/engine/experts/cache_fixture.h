#pragma once

#include "experts/expert_cache.h"
#include "support/fake_records.h"

#include <QTest>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <utility>
#include <vector>

// A cache of records on a made-up disk, and routes of tokens through it.

namespace waste::test {

using Pin = ExpertSource::Pin;

inline constexpr RecordStore::Grid kGrid{.firstLayer = 1, .layerCount = 5, .expertCount = 24, .recordBytes = 4096};
inline constexpr std::uint32_t kExpertsPerToken = 4;

inline std::unique_ptr<ExpertCache> makeCache(FakeRecords& disk, std::uint32_t slotCount, std::uint32_t readerCount,
    CachePolicy policy = CachePolicy::Age, std::uint32_t lendableSlotCount = 0)
{
    auto cache = ExpertCache::create(disk.store(),
        {.slotCount = slotCount,
            .lendableSlotCount = lendableSlotCount,
            .expertsPerToken = kExpertsPerToken,
            .readerCount = readerCount,
            .policy = policy});
    if (!cache)
        qFatal("%s", cache.error().message.c_str());
    return std::move(*cache);
}

inline std::vector<std::uint16_t> someExperts(std::mt19937& random, std::size_t count)
{
    std::vector<std::uint16_t> experts(kGrid.expertCount);
    std::iota(experts.begin(), experts.end(), std::uint16_t{0});
    std::shuffle(experts.begin(), experts.end(), random);
    experts.resize(count);
    std::sort(experts.begin(), experts.end());
    return experts;
}

// The experts of some tokens, layer by layer.
using Route = std::vector<std::pair<std::uint16_t, std::vector<std::uint16_t>>>;

inline Route makeRoute(unsigned seed, std::size_t tokens, std::size_t expertsPerLayer = kExpertsPerToken)
{
    std::mt19937 random(seed);
    Route route;
    for (std::size_t token = 0; token < tokens; ++token) {
        for (std::uint16_t layer = 0; layer < kGrid.layerCount; ++layer)
            route.emplace_back(kGrid.firstLayer + layer, someExperts(random, expertsPerLayer));
    }
    return route;
}

struct RunResult {
    std::uint64_t accesses = 0;
    std::uint64_t errors = 0;
    std::uint64_t wrong = 0;
};

// Acquires every expert of a route by its name; one that failed is asked for again.
inline RunResult run(ExpertCache& cache, const FakeRecords& disk, const Route& route)
{
    RunResult result;
    for (const auto& [layer, experts] : route) {
        cache.announce(layer, experts);
        for (const std::uint16_t expert : experts) {
            const ExpertKey key{layer, expert};
            while (true) {
                const auto pin = cache.acquire(key);
                if (pin) {
                    ++result.accesses;
                    result.wrong += disk.isRecord(pin->view(), key) ? 0 : 1;
                    break;
                }
                ++result.errors;
            }
        }
    }
    return result;
}

// The same in order of arrival, each token guessing at a part of the next layer.
inline RunResult runByArrival(ExpertCache& cache, const FakeRecords& disk, const Route& route, std::size_t guessed = 0)
{
    RunResult result;
    for (std::size_t i = 0; i < route.size(); ++i) {
        const auto& [layer, experts] = route[i];
        cache.announce(layer, experts);
        std::set<std::uint16_t> left(experts.begin(), experts.end());
        while (!left.empty()) {
            auto arrived = cache.tryAcquireNext();
            if (!arrived)
                qFatal("trying is no error");
            if (!*arrived) {
                auto awaited = cache.acquireNext();
                if (!awaited) {
                    ++result.errors;
                    continue;
                }
                *arrived = std::move(*awaited);
            }
            ++result.accesses;
            const bool isRight = disk.isRecord((*arrived)->pin.view(), {layer, (*arrived)->expert});
            result.wrong += isRight && left.erase((*arrived)->expert) == 1 ? 0 : 1;
        }
        if (guessed > 0 && i + 1 < route.size())
            cache.prefetch(
                route[i + 1].first, std::span(route[i + 1].second).first(guessed), ExpertSource::GuessFor::Token);
    }
    return result;
}

inline void addReaderRows()
{
    QTest::addColumn<uint>("readers");
    for (const uint readers : {0U, 1U, 2U, 8U})
        QTest::addRow("%u readers", readers) << readers;
}

} // namespace waste::test
