// Nothing allocates while a model writes, and opening a model survives the failure of any one allocation:
// every call of operator new in the program is counted, and one of them may be made to fail.

#include "session_fixture.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::uint64_t> allocationCount = 0;
// Of the larger ones, this one fails. Small ones may fail inside libraries that do not survive it:
// std::filesystem::path of GCC 12 frees twice, the JSON library allocates in a destructor.
constexpr std::size_t kLargeBytes = 1024;
std::atomic<std::uint64_t> largeAllocationCount = 0;
std::atomic<std::uint64_t> failingAllocation = UINT64_MAX;

void* allocate(std::size_t bytes, std::size_t alignment)
{
    allocationCount.fetch_add(1, std::memory_order_relaxed);
    if (bytes >= kLargeBytes
        && largeAllocationCount.fetch_add(1, std::memory_order_relaxed)
            == failingAllocation.load(std::memory_order_relaxed))
        throw std::bad_alloc();
    void* memory = alignment <= alignof(std::max_align_t)
        ? std::malloc(bytes)
        : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (memory == nullptr)
        throw std::bad_alloc();
    return memory;
}

} // namespace

void* operator new(std::size_t bytes)
{
    return allocate(bytes, 1);
}
void* operator new(std::size_t bytes, std::align_val_t alignment)
{
    return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept
{
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept
{
    std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept
{
    std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept
{
    std::free(memory);
}

using namespace waste;
using namespace waste::test;

class TestAllocations : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void allocatesNothingWhileItWrites_data()
    {
        QTest::addColumn<QString>("model");
        QTest::addColumn<bool>("smallestCache");
        QTest::newRow("everything resident") << "k3-mini" << false;
        QTest::newRow("everything cached") << "k3-odd" << false;
        QTest::newRow("smallest cache") << "k3-odd" << true;
        QTest::newRow("embedding on disk") << "kl-vq3r-q4g" << true;
    }

    void allocatesNothingWhileItWrites()
    {
        QFETCH(const QString, model);
        QFETCH(const bool, smallestCache);
        const std::shared_ptr<const Container> container = openModel(model.toStdString());
        TestOptions options{.contextTokens = 256, .threadCount = 2};
        if (smallestCache) {
            const Result<MemoryPlan> plan =
                MemoryPlan::compute(*container, {.contextTokens = 256, .threadCount = 2}, Machine::detect());
            WASTE_VERIFY_OK(plan);
            options.budgetBytes = plan->floorBytes;
        }
        const std::unique_ptr<Engine> engine = openEngine(container, options);
        const std::unique_ptr<Session> session = openSession(*engine);
        WASTE_VERIFY_OK(session->append(samplePrompt(model.toStdString())));

        GenerateOptions generate;
        generate.tokensMax = 64;
        generate.sampling.temperature = 1;
        generate.sampling.topP = 0.9;
        std::uint64_t first = 0;
        std::uint64_t last = 0;
        const TokenSink sink = [&](const TokenEvent& event) {
            last = allocationCount.load(std::memory_order_relaxed);
            if (event.index == 0)
                first = last;
            return TokenAction::Continue;
        };
        WASTE_VERIFY_OK(session->generate(generate, sink));
        QVERIFY(first > 0); // it does count
        QCOMPARE(last - first, 0U);
    }

    void saysThatMemoryIsOutWhicheverLargeAllocationFails()
    {
        const std::shared_ptr<const Container> container = openModel("k3-odd");
        EngineOptions options;
        options.contextTokens = 64;
        options.threadCount = 2;

        const auto open = [&] { return Engine::open(container, options); };
        const std::uint64_t before = largeAllocationCount;
        WASTE_VERIFY_OK(open());
        const std::uint64_t count = largeAllocationCount - before;
        std::uint64_t failures = 0;
        for (std::uint64_t n = 0; n < count; ++n) {
            failingAllocation = largeAllocationCount + n;
            const Result<std::unique_ptr<Engine>> engine = open();
            failingAllocation = UINT64_MAX;
            if (engine.has_value())
                continue; // a library went on without a temporary buffer
            ++failures;
            QVERIFY2(engine.error().code == ErrorCode::OutOfMemory, engine.error().message.c_str());
        }
        QVERIFY2(failures > count / 2, qPrintable(QString("%1 of %2").arg(failures).arg(count)));
        WASTE_VERIFY_OK(open());
    }
};

QTEST_GUILESS_MAIN(TestAllocations)
#include "tst_allocations.moc"
