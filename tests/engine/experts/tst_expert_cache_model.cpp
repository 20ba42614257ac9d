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
    double uses = 0;
};

struct Place {
    int record = -1;
    bool wanted = false;
    bool read = false; // at all
    bool counted = false;
    int pins = 0;
};

// One reader-less cache as a list. Records are numbers layer · experts + expert.
class ListCache {
public:
    ListCache(std::size_t slotCount, CachePolicy policy)
        : m_policy(policy)
        , m_window(std::min<std::size_t>(64, slotCount / 4))
        , m_places(slotCount)
    {
        for (std::size_t place = slotCount; place-- > 0;)
            m_free.push_back(place);
    }

    void announce(const std::vector<int>& records)
    {
        for (std::size_t i = 0; i < m_next; ++i) {
            const int place = find(m_announced[i]);
            if (place >= 0 && !m_places[static_cast<std::size_t>(place)].read)
                remove(static_cast<std::size_t>(place));
        }
        for (Place& place : m_places)
            place.wanted = false;
        m_announced = records;
        m_next = 0;
        m_announcedAt = clock;
        fillWindow();
    }

    // False: every place is pinned.
    bool acquire(int record)
    {
        int place = find(record);
        if (place < 0) {
            place = insert(record, true);
            if (place < 0)
                return false;
        }
        Place& entry = m_places[static_cast<std::size_t>(place)];
        if (!entry.read)
            ++reads;
        entry.read = true;
        entry.counted ? ++hits : ++misses;
        entry.counted = true;
        entry.wanted = false;
        ++entry.pins;
        history[record].lastUse = ++clock;
        history[record].uses += 1;
        fillWindow();
        return true;
    }

    void release(int record) { --m_places[static_cast<std::size_t>(find(record))].pins; }

    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::uint64_t reads = 0;
    std::uint64_t evictions = 0;
    std::uint64_t clock = 0;
    std::map<int, History> history;

private:
    int find(int record) const
    {
        for (std::size_t i = 0; i < m_places.size(); ++i) {
            if (m_places[i].record == record)
                return static_cast<int>(i);
        }
        return -1;
    }

    void remove(std::size_t place)
    {
        m_places[place] = Place();
        m_free.push_back(place);
    }

    double worth(std::size_t place) const
    {
        const History& past = history.at(m_places[place].record);
        if (m_policy == CachePolicy::Age)
            return past.uses / static_cast<double>(clock - past.lastUse + kGrid.layerCount * kExpertsPerToken);
        const auto recency = static_cast<double>(past.lastUse);
        return m_policy == CachePolicy::Lfru ? past.uses * 1e9 + recency : recency;
    }

    int leastWorth(const std::vector<std::size_t>& candidates, bool alsoWanted) const
    {
        int least = -1;
        for (const std::size_t place : candidates) {
            if (m_places[place].pins > 0 || (m_places[place].wanted && !alsoWanted))
                continue;
            if (least < 0 || worth(place) < worth(static_cast<std::size_t>(least)))
                least = static_cast<int>(place);
        }
        return least;
    }

    int insert(int record, bool demand)
    {
        if (m_free.empty()) {
            std::vector<std::size_t> drawn;
            for (int i = 0; i < 16; ++i) {
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
            if (m_places[static_cast<std::size_t>(victim)].read)
                ++evictions;
            remove(static_cast<std::size_t>(victim));
        }
        const std::size_t place = m_free.back();
        m_free.pop_back();
        m_places[place].record = record;
        History& past = history[record];
        if (m_policy == CachePolicy::Lfru)
            past.uses = 0;
        return static_cast<int>(place);
    }

    void fillWindow()
    {
        const auto wantedCount = [&] {
            return static_cast<std::size_t>(
                std::count_if(m_places.begin(), m_places.end(), [](const Place& place) { return place.wanted; }));
        };
        for (; m_next < m_announced.size() && wantedCount() < m_window; ++m_next) {
            const int record = m_announced[m_next];
            if (history[record].lastUse > m_announcedAt)
                continue;
            int place = find(record);
            if (place < 0)
                place = insert(record, false);
            if (place < 0)
                return;
            m_places[static_cast<std::size_t>(place)].wanted = true;
        }
    }

    CachePolicy m_policy;
    std::size_t m_window;
    std::vector<Place> m_places;
    std::vector<std::size_t> m_free;
    std::vector<int> m_announced;
    std::size_t m_next = 0;
    std::uint64_t m_announcedAt = 0;
    std::uint32_t m_random = 0x9e3779b9U;
};

} // namespace

class TestExpertCacheModel : public QObject {
    Q_OBJECT

    // Any order of announcing, acquiring and releasing, announcements left half-used included.
    static void operateAtRandom(unsigned seed, std::uint32_t slotCount, CachePolicy policy)
    {
        std::mt19937 random(seed);
        FakeRecords disk(kGrid);
        auto created = ExpertCache::create(disk.store(),
            {.slotCount = slotCount, .expertsPerToken = kExpertsPerToken, .readerCount = 0, .policy = policy});
        QVERIFY(created);
        ExpertCache& cache = **created;
        ListCache list(slotCount, policy);
        std::vector<std::pair<ExpertSource::Pin, int>> pins;

        std::vector<std::uint16_t> experts(kGrid.expertCount);
        std::iota(experts.begin(), experts.end(), std::uint16_t{0});
        std::uint16_t layer = 0;
        std::vector<std::uint16_t> announced;
        for (int step = 0; step < 3000; ++step) {
            const auto choice = static_cast<unsigned>(random() % 100);
            if (choice < 12) {
                layer = static_cast<std::uint16_t>(random() % kGrid.layerCount);
                std::shuffle(experts.begin(), experts.end(), random);
                announced.assign(experts.begin(), experts.begin() + random() % 9);
                std::sort(announced.begin(), announced.end());
                cache.announce(kGrid.firstLayer + layer, announced);
                std::vector<int> records;
                for (const std::uint16_t expert : announced)
                    records.push_back(static_cast<int>(layer * kGrid.expertCount) + expert);
                list.announce(records);
            } else if (choice < 60) {
                // Mostly what was announced and in its order, sometimes something popular, sometimes anything.
                std::uint16_t expert = static_cast<std::uint16_t>(random() % (choice < 50 ? 4 : kGrid.expertCount));
                if (choice < 40 && !announced.empty()) {
                    expert = announced.front();
                    announced.erase(announced.begin());
                }
                const int record = static_cast<int>(layer * kGrid.expertCount) + expert;
                const ExpertKey key{static_cast<std::uint16_t>(kGrid.firstLayer + layer), expert};
                auto pin = cache.acquire(key);
                QCOMPARE(pin.has_value(), list.acquire(record));
                if (pin) {
                    QVERIFY(disk.isRecord(pin->view(), key));
                    pins.emplace_back(std::move(*pin), record);
                }
            } else if (!pins.empty()) {
                const std::size_t index = random() % pins.size();
                list.release(pins[index].second);
                pins.erase(pins.begin() + static_cast<std::ptrdiff_t>(index));
            }
            const CacheStatistics statistics = cache.statistics();
            QCOMPARE(statistics.hits, list.hits);
            QCOMPARE(statistics.misses, list.misses);
            QCOMPARE(statistics.evictions, list.evictions);
            QCOMPARE(statistics.readsIssued, list.reads);
            QCOMPARE(disk.readCount(), list.reads);
        }
        QVERIFY(statisticsMeanSomething(cache.statistics(), slotCount));
    }

    static bool statisticsMeanSomething(const CacheStatistics& statistics, std::uint32_t slotCount)
    {
        return statistics.hits > 0 && statistics.misses > 0
            && (statistics.evictions > 0 || slotCount >= kGrid.layerCount * kGrid.expertCount);
    }

private Q_SLOTS:
    void behavesLikeAPlainList_data()
    {
        QTest::addColumn<int>("policy");
        QTest::addColumn<uint>("slotCount");
        for (const CachePolicy policy : {CachePolicy::Age, CachePolicy::Lfru, CachePolicy::Lru}) {
            for (const uint slotCount : {1U, 2U, 3U, 4U, 5U, 8U, 13U, 24U, 40U, 59U, 60U})
                QTest::addRow("policy %d, %u slots", int(policy), slotCount) << int(policy) << slotCount;
        }
    }
    void behavesLikeAPlainList()
    {
        QFETCH(int, policy);
        QFETCH(uint, slotCount);
        for (unsigned seed = 1; seed <= 3; ++seed) {
            operateAtRandom(seed, slotCount, static_cast<CachePolicy>(policy));
            if (QTest::currentTestFailed())
                return;
        }
    }
};

QTEST_APPLESS_MAIN(TestExpertCacheModel)
#include "tst_expert_cache_model.moc"
