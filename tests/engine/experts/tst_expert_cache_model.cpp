// The cache against a plain list that does the same by looking at everything, under random operations.

#include "experts/expert_cache.h"
#include "support/fake_records.h"

#include <QTest>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <vector>

using namespace waste;
using test::FakeRecords;

namespace {

constexpr RecordStore::Grid kGrid{.firstLayer = 2, .layerCount = 3, .expertCount = 20, .recordBytes = 4096};
constexpr std::uint32_t kExpertsPerToken = 3;

struct History {
    std::uint64_t lastUse = 0;
    std::uint64_t uses = 0;
};

struct Place {
    int record = -1;
    bool wanted = false; // by the announcement
    bool guessed = false;
    bool inWindow = false;
    bool read = false; // at all
    bool counted = false;
    bool readByGuess = false;
    int pins = 0;
};

enum class Readers { None, AlwaysDone };

// The cache as a list. Records are numbers layer · experts + expert. Its readers have either done everything
// there is to do by the time the next operation comes, or do not exist.
class ListCache {
public:
    ListCache(std::size_t slotCount, CachePolicy policy, Readers readers)
        : m_policy(policy)
        , m_readers(readers)
        , m_window(std::min<std::size_t>(
              64, std::max<std::size_t>(slotCount / 4, std::min<std::size_t>(kExpertsPerToken, slotCount / 2))))
        , m_places(slotCount)
    {
        for (std::size_t place = slotCount; place-- > 0;)
            m_free.push_back(place);
    }

    void announce(const std::vector<int>& records)
    {
        for (const int record : left) {
            const int place = find(record);
            if (place >= 0 && !at(place).read)
                remove(static_cast<std::size_t>(place));
        }
        for (Place& place : m_places)
            place.wanted = place.inWindow = false;
        left = records;
        m_missing.clear();
        m_next = 0;
        m_arrived.clear();
        for (const int record : records) {
            use(record);
            const int place = find(record);
            if (place < 0) {
                m_missing.push_back(record);
                continue;
            }
            guessesUseful += at(place).readByGuess ? 1 : 0;
            at(place).readByGuess = at(place).guessed = false;
            at(place).wanted = true;
            m_arrived.push_back(record);
        }
        settleGuesses();
        fillWindow();
        runReaders();
    }

    void prefetch(std::size_t layer, std::vector<int> records)
    {
        const auto layerOf = [](int record) { return static_cast<std::size_t>(record) / kGrid.expertCount; };
        if (m_guesses.empty() || layerOf(m_guesses.front()) != layer)
            settleGuesses();
        records.resize(std::min(records.size(), m_window));
        // What no guess has read goes, with its claim.
        const auto isDropped = [&](int record) {
            const int place = find(record);
            if (place >= 0 && !at(place).readByGuess)
                at(place).guessed = false;
            return place < 0 || !at(place).readByGuess;
        };
        m_guesses.erase(std::remove_if(m_guesses.begin(), m_guesses.end(), isDropped), m_guesses.end());
        m_guessNext = m_guesses.size();
        for (const int record : records) {
            if (std::find(m_guesses.begin(), m_guesses.end(), record) == m_guesses.end())
                m_guesses.push_back(record);
        }
        for (const int record : records) {
            const int place = find(record);
            if (place >= 0 && !at(place).wanted)
                at(place).guessed = true;
        }
        runReaders();
    }

    // False: every place is pinned.
    bool acquire(int record)
    {
        if (!makeResident(record))
            return false;
        if (!isLeft(record))
            use(record);
        handOut(record);
        return true;
    }

    // -1: none has arrived.
    int tryAcquireNext()
    {
        while (!m_arrived.empty()) {
            const int record = m_arrived.front();
            m_arrived.erase(m_arrived.begin());
            if (isLeft(record) && find(record) >= 0) {
                handOut(record);
                return record;
            }
        }
        return -1;
    }

    // -1: every place is pinned.
    int acquireNext()
    {
        const int arrived = tryAcquireNext();
        if (arrived >= 0)
            return arrived;
        const int record = left.front();
        if (!makeResident(record))
            return -1;
        handOut(record);
        return record;
    }

    void release(int record) { --at(find(record)).pins; }

    std::vector<int> left; // announced and not handed out
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::uint64_t reads = 0;
    std::uint64_t evictions = 0;
    std::uint64_t guessesIssued = 0;
    std::uint64_t guessesUseful = 0;
    std::uint64_t guessesWasted = 0;

private:
    Place& at(int place) { return m_places[static_cast<std::size_t>(place)]; }
    bool isLeft(int record) const { return std::find(left.begin(), left.end(), record) != left.end(); }

    int find(int record) const
    {
        for (std::size_t i = 0; i < m_places.size(); ++i) {
            if (m_places[i].record == record)
                return static_cast<int>(i);
        }
        return -1;
    }

    void use(int record)
    {
        m_layer = record / static_cast<int>(kGrid.expertCount);
        m_history[record].lastUse = ++m_clock;
        m_history[record].uses += 1;
    }

    void remove(std::size_t place)
    {
        m_places[place] = Place();
        m_free.push_back(place);
    }

    // Numerator and denominator, so that equal is equal.
    std::pair<std::uint64_t, std::uint64_t> worth(std::size_t place) const
    {
        const History& past = m_history.at(m_places[place].record);
        if (m_policy == CachePolicy::Lru)
            return {past.lastUse, 1};
        if (m_policy == CachePolicy::Lfru)
            return {past.uses * 1'000'000 + past.lastUse, 1};
        int away = m_places[place].record / static_cast<int>(kGrid.expertCount) - m_layer;
        away += away <= 0 ? kGrid.layerCount : 0;
        const std::uint64_t age = m_clock - past.lastUse + kGrid.layerCount * kExpertsPerToken;
        return {past.uses, age * static_cast<std::uint64_t>(4 * away + kGrid.layerCount)};
    }

    bool isWorthLess(std::size_t place, std::size_t other) const
    {
        return worth(place).first * worth(other).second < worth(other).first * worth(place).second;
    }

    int leastWorth(const std::vector<std::size_t>& candidates, bool alsoClaimed) const
    {
        int least = -1;
        for (const std::size_t place : candidates) {
            const bool claimed = m_places[place].wanted || m_places[place].guessed;
            if (m_places[place].pins > 0 || (claimed && !alsoClaimed))
                continue;
            if (least < 0 || isWorthLess(place, static_cast<std::size_t>(least)))
                least = static_cast<int>(place);
        }
        return least;
    }

    int insert(int record, bool demand)
    {
        if (m_free.empty()) {
            std::vector<std::size_t> drawn;
            for (int i = 0; i < (m_policy == CachePolicy::Age ? 64 : 16); ++i) {
                m_random = m_random * 1664525U + 1013904223U;
                drawn.push_back(m_random % m_places.size());
            }
            int victim = leastWorth(drawn, false);
            // None of those: the first that may go, goes.
            for (std::size_t i = 0; victim < 0 && i < m_places.size(); ++i)
                victim = leastWorth({i}, false);
            for (std::size_t i = 0; demand && victim < 0 && i < m_places.size(); ++i)
                victim = leastWorth({i}, true);
            if (victim < 0)
                return -1;
            if (at(victim).read)
                ++evictions;
            remove(static_cast<std::size_t>(victim));
        }
        const std::size_t place = m_free.back();
        m_free.pop_back();
        m_places[place].record = record;
        History& past = m_history[record];
        if (m_policy == CachePolicy::Lfru)
            past.uses = isLeft(record) ? 1 : 0;
        return static_cast<int>(place);
    }

    bool makeResident(int record)
    {
        int place = find(record);
        if (place < 0)
            place = insert(record, true);
        if (place < 0)
            return false;
        reads += at(place).read ? 0 : 1;
        at(place).read = true;
        return true;
    }

    void handOut(int record)
    {
        Place& place = at(find(record));
        place.counted ? ++hits : ++misses;
        place.counted = true;
        place.wanted = place.guessed = place.inWindow = false;
        ++place.pins;
        left.erase(std::remove(left.begin(), left.end(), record), left.end());
        fillWindow();
        runReaders();
    }

    void fillWindow()
    {
        const auto windowCount = [&] {
            return static_cast<std::size_t>(
                std::count_if(m_places.begin(), m_places.end(), [](const Place& place) { return place.inWindow; }));
        };
        for (; m_next < m_missing.size() && windowCount() < m_window; ++m_next) {
            const int record = m_missing[m_next];
            if (!isLeft(record))
                continue;
            int place = find(record);
            if (place < 0) {
                place = insert(record, false);
                if (place < 0)
                    return;
                at(place).inWindow = true;
            } else {
                m_arrived.push_back(record);
            }
            at(place).guessed = false;
            at(place).wanted = true;
        }
    }

    void runReaders()
    {
        if (m_readers == Readers::None)
            return;
        for (const int record : m_missing) {
            const int place = find(record);
            if (place < 0 || at(place).read)
                continue;
            at(place).read = true;
            ++reads;
            m_arrived.push_back(record);
        }
        for (; m_guessNext < m_guesses.size(); ++m_guessNext) {
            const int record = m_guesses[m_guessNext];
            if (find(record) >= 0)
                continue;
            const int place = insert(record, false);
            if (place < 0)
                continue;
            at(place).guessed = at(place).read = at(place).counted = at(place).readByGuess = true;
            ++reads;
            ++guessesIssued;
        }
    }

    void settleGuesses()
    {
        for (Place& place : m_places) {
            if (place.guessed && place.readByGuess)
                ++guessesWasted;
            if (place.guessed)
                place.guessed = place.readByGuess = false;
        }
        m_guesses.clear();
        m_guessNext = 0;
    }

    CachePolicy m_policy;
    Readers m_readers;
    std::size_t m_window;
    std::vector<Place> m_places;
    std::vector<std::size_t> m_free;
    std::map<int, History> m_history;
    std::uint64_t m_clock = 0;
    int m_layer = 0; // of the last access
    std::vector<int> m_missing;
    std::size_t m_next = 0;
    std::vector<int> m_arrived;
    std::vector<int> m_guesses;
    std::size_t m_guessNext = 0;
    std::uint32_t m_random = 0x9e3779b9U;
};

} // namespace

class TestExpertCacheModel : public QObject {
    Q_OBJECT

    struct Setup {
        unsigned seed;
        std::uint32_t slotCount;
        CachePolicy policy;
        Readers readers;
    };

    // Any order of announcing, guessing, acquiring and releasing, announcements left half-used included.
    static void operateAtRandom(const Setup& setup)
    {
        std::mt19937 random(setup.seed);
        const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(random()) % limit; };
        FakeRecords disk(kGrid);
        auto created = ExpertCache::create(disk.store(),
            {.slotCount = setup.slotCount,
                .expertsPerToken = kExpertsPerToken,
                .readerCount = setup.readers == Readers::None ? 0U : 1U,
                .policy = setup.policy});
        QVERIFY(created);
        ExpertCache& cache = **created;
        ListCache list(setup.slotCount, setup.policy, setup.readers);
        std::vector<std::pair<ExpertSource::Pin, int>> pins;

        std::vector<std::uint16_t> experts(kGrid.expertCount);
        std::iota(experts.begin(), experts.end(), std::uint16_t{0});
        std::vector<std::uint16_t> announced;
        const auto someExperts = [&](std::size_t limit) {
            std::shuffle(experts.begin(), experts.end(), random);
            return std::vector<std::uint16_t>(
                experts.begin(), experts.begin() + static_cast<std::ptrdiff_t>(below(limit)));
        };
        std::size_t layer = 0;
        const auto recordOf = [&](std::size_t inLayer, std::uint16_t expert) {
            return static_cast<int>(inLayer * kGrid.expertCount) + expert;
        };
        const auto recordsOf = [&](std::size_t inLayer, const std::vector<std::uint16_t>& some) {
            std::vector<int> records;
            for (const std::uint16_t expert : some)
                records.push_back(recordOf(inLayer, expert));
            return records;
        };
        const auto name = [](std::size_t inLayer) { return static_cast<std::uint16_t>(kGrid.firstLayer + inLayer); };
        const auto keep = [&](ExpertSource::Pin pin, std::uint16_t expert) {
            QVERIFY(disk.isRecord(pin.view(), {name(layer), expert}));
            pins.emplace_back(std::move(pin), recordOf(layer, expert));
        };

        for (int step = 0; step < 3000; ++step) {
            const std::size_t choice = below(100);
            if (choice < 12) {
                layer = below(kGrid.layerCount);
                announced = someExperts(9);
                std::sort(announced.begin(), announced.end());
                cache.announce(name(layer), announced);
                list.announce(recordsOf(layer, announced));
            } else if (choice < 18) {
                const std::size_t next = below(kGrid.layerCount);
                const std::vector<std::uint16_t> guess = someExperts(6);
                cache.prefetch(name(next), guess, ExpertSource::GuessFor::Token);
                list.prefetch(next, recordsOf(next, guess));
            } else if (choice < 36 && !list.left.empty()) {
                const int expected = list.acquireNext();
                auto arrival = cache.acquireNext();
                QCOMPARE(arrival ? recordOf(layer, arrival->expert) : -1, expected);
                if (arrival)
                    keep(std::move(arrival->pin), arrival->expert);
            } else if (choice < 50) {
                const int expected = list.tryAcquireNext();
                auto arrival = cache.tryAcquireNext();
                QVERIFY(arrival);
                QCOMPARE(*arrival ? recordOf(layer, (*arrival)->expert) : -1, expected);
                if (*arrival)
                    keep(std::move((*arrival)->pin), (*arrival)->expert);
            } else if (choice < 65) {
                // Sometimes something announced, sometimes something popular, sometimes anything.
                auto expert = static_cast<std::uint16_t>(below(choice < 60 ? 4 : kGrid.expertCount));
                if (choice < 55 && !list.left.empty())
                    expert = static_cast<std::uint16_t>(list.left[below(list.left.size())] % int(kGrid.expertCount));
                auto pin = cache.acquire({name(layer), expert});
                QCOMPARE(pin.has_value(), list.acquire(recordOf(layer, expert)));
                if (pin)
                    keep(std::move(*pin), expert);
            } else if (!pins.empty()) {
                const std::size_t index = below(pins.size());
                list.release(pins[index].second);
                pins.erase(pins.begin() + static_cast<std::ptrdiff_t>(index));
            }
            cache.waitUntilIdle();
            const CacheStatistics statistics = cache.statistics();
            QCOMPARE(statistics.hits, list.hits);
            QCOMPARE(statistics.misses, list.misses);
            QCOMPARE(statistics.evictions, list.evictions);
            QCOMPARE(statistics.readsIssued, list.reads);
            QCOMPARE(statistics.guessesIssued, list.guessesIssued);
            QCOMPARE(statistics.guessesUseful, list.guessesUseful);
            QCOMPARE(statistics.guessesWasted, list.guessesWasted);
            QCOMPARE(disk.readCount(), list.reads);
        }
        QVERIFY(statisticsMeanSomething(cache.statistics(), setup));
    }

    static bool statisticsMeanSomething(const CacheStatistics& statistics, const Setup& setup)
    {
        constexpr std::uint32_t kRecords = kGrid.layerCount * kGrid.expertCount;
        const bool isEverythingCached = setup.slotCount >= kRecords;
        // Where a single record is missing, hardly a guess is read.
        const bool guesses = setup.readers != Readers::None && setup.slotCount >= 4 && setup.slotCount + 1 < kRecords;
        return statistics.hits > 0 && statistics.misses > 0 && (statistics.evictions > 0 || isEverythingCached)
            && (!guesses || (statistics.guessesUseful > 0 && statistics.guessesWasted > 0));
    }

private Q_SLOTS:
    void behavesLikeAPlainList_data()
    {
        QTest::addColumn<int>("policy");
        QTest::addColumn<uint>("slotCount");
        QTest::addColumn<int>("readers");
        for (const CachePolicy policy : {CachePolicy::Age, CachePolicy::Lfru, CachePolicy::Lru}) {
            for (const uint slotCount : {1U, 2U, 3U, 4U, 5U, 8U, 13U, 24U, 40U, 59U, 60U}) {
                for (const Readers readers : {Readers::None, Readers::AlwaysDone})
                    QTest::addRow("policy %d, %u slots, %s", int(policy), slotCount,
                        readers == Readers::None ? "no reader" : "a reader")
                        << int(policy) << slotCount << int(readers);
            }
        }
    }
    void behavesLikeAPlainList()
    {
        QFETCH(int, policy);
        QFETCH(uint, slotCount);
        QFETCH(int, readers);
        for (unsigned seed = 1; seed <= 5; ++seed) {
            operateAtRandom({seed, slotCount, static_cast<CachePolicy>(policy), static_cast<Readers>(readers)});
            if (QTest::currentTestFailed())
                return;
        }
    }
};

QTEST_APPLESS_MAIN(TestExpertCacheModel)
#include "tst_expert_cache_model.moc"
