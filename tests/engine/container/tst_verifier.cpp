// A pass over a container finds every damage, goes on behind it, and can be followed and cancelled.

#include "container/error_reasons.h"
#include "container/trunk_pass.h"
#include "container/verifier.h"
#include "platform/direct_file.h"
#include "support/damage.h"
#include "support/failing_disk.h"

#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <fstream>
#include <set>

using namespace waste;
namespace fs = std::filesystem;

class TestVerifier : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void everyDamageIsToldWithItsPlace();
    void headersAloneAreAFastPass();
    void oneLayerCanBeVerified();
    void progressCoversTheWholeWork();
    void everyByteIsReadOnce();
    void whatLiesBetweenTensorsIsReadToo();
    void tensorsThatShareBytesAreCheckedEach();
    void cancellingEndsThePass();
    void aBankThatShrankIsToldRecordByRecord();

private:
    void flip(const char* file, std::uint64_t offset) const;
    std::vector<Damage> damages(const VerifyOptions& options = {}) const;

    std::unique_ptr<QTemporaryDir> m_directory;
    fs::path m_container;
    std::optional<ContainerFiles> m_files;
};

void TestVerifier::init()
{
    m_directory = std::make_unique<QTemporaryDir>();
    m_container = m_directory->path().toStdString();
    QVERIFY(test::copyGolden("kl-vq4p-mixed", m_container)); // every checksum is present
    auto files = ContainerFiles::open(m_container);
    QVERIFY(files);
    m_files.emplace(std::move(*files));
}

void TestVerifier::flip(const char* file, std::uint64_t offset) const
{
    std::fstream stream(m_container / file, std::ios::binary | std::ios::in | std::ios::out);
    stream.seekg(static_cast<std::streamoff>(offset));
    const char byte = static_cast<char>(stream.get() ^ 1);
    stream.seekp(static_cast<std::streamoff>(offset));
    stream.put(byte);
}

std::vector<Damage> TestVerifier::damages(const VerifyOptions& options) const
{
    std::vector<Damage> found;
    const CancelFlag cancel;
    const auto report = verifyContainer(
        *m_files, options, [&found](const Damage& damage) { found.push_back(damage); }, {}, cancel);
    if (!report || report->damageCount != found.size())
        qFatal("the pass failed or miscounted");
    return found;
}

void TestVerifier::everyDamageIsToldWithItsPlace()
{
    const TrunkEntry* tensor = m_files->manifest.find("model.layers.1.self_attn.q_proj.weight");
    QVERIFY(tensor != nullptr);
    flip("codebooks.bin", 500);
    flip("trunk.bin", tensor->offset + 9);
    flip("experts-L1.bin", 2 * 20480 + 24); // a header
    flip("experts-L3.bin", 5 * 20480 + 3000); // an index
    const std::vector<Damage> found = damages();
    QCOMPARE(found.size(), std::size_t{4});
    QCOMPARE(found[0].file, std::string("codebooks.bin"));
    QCOMPARE(found[0].error.reason, std::string(reason::kChecksum));
    QCOMPARE(found[1].file, std::string("trunk.bin"));
    QCOMPARE(found[1].tensor, tensor->name);
    QCOMPARE(found[1].offset, tensor->offset);
    QCOMPARE(found[2].file, std::string("experts-L1.bin"));
    QCOMPARE(found[2].layer, std::optional<std::uint32_t>(1));
    QCOMPARE(found[2].expert, std::optional<std::uint32_t>(2));
    QCOMPARE(found[2].error.reason, std::string(reason::kRecordHeader));
    QCOMPARE(found[3].layer, std::optional<std::uint32_t>(3));
    QCOMPARE(found[3].expert, std::optional<std::uint32_t>(5));
    QCOMPARE(found[3].offset, std::uint64_t{5 * 20480});
    QCOMPARE(found[3].error.reason, std::string(reason::kChecksum));
}

void TestVerifier::headersAloneAreAFastPass()
{
    flip("codebooks.bin", 500);
    flip("experts-L3.bin", 5 * 20480 + 3000);
    flip("experts-L3.bin", 4 * 20480 + 4);
    const std::vector<Damage> found = damages({.headersOnly = true, .layer = {}});
    QCOMPARE(found.size(), std::size_t{1});
    QCOMPARE(found[0].expert, std::optional<std::uint32_t>(4));
}

void TestVerifier::oneLayerCanBeVerified()
{
    flip("experts-L1.bin", 3000);
    flip("experts-L3.bin", 3000);
    const std::vector<Damage> found = damages({.layer = 3});
    QCOMPARE(found.size(), std::size_t{1});
    QCOMPARE(found[0].layer, std::optional<std::uint32_t>(3));
    const CancelFlag cancel;
    const auto report = verifyContainer(
        *m_files, {.layer = 0}, [](const Damage&) {}, {}, cancel); // a dense layer
    QVERIFY(!report);
    QCOMPARE(report.error().code, ErrorCode::InvalidArgument);
}

void TestVerifier::progressCoversTheWholeWork()
{
    std::vector<Progress> steps;
    const CancelFlag cancel;
    const auto report = verifyContainer(
        *m_files, {}, [](const Damage&) {}, [&steps](const Progress& progress) { steps.push_back(progress); }, cancel);
    QVERIFY(report);
    QCOMPARE(report->recordsChecked, std::uint64_t{18});
    QCOMPARE(steps.front().done, std::uint64_t{0});
    for (std::size_t i = 1; i < steps.size(); ++i)
        QVERIFY(steps[i].done >= steps[i - 1].done);
    QVERIFY(steps.back().total > 0);
    QCOMPARE(steps.back().done, steps.back().total);
    QCOMPARE(report->bytesRead, steps.back().total);
}

void TestVerifier::everyByteIsReadOnce()
{
    QVERIFY(damages({.writeIntegrity = true}).empty());
    std::uint64_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(m_container)) {
        if (entry.path().filename() != kIntegrityFile)
            bytes += entry.file_size();
    }
    const CancelFlag cancel;
    for (const bool write : {false, true}) {
        const test::FailingDisk disk({});
        const auto report = verifyContainer(
            *m_files, {.writeIntegrity = write}, [](const Damage&) {}, {}, cancel);
        QVERIFY(report);
        QVERIFY(report->integrityChecked);
        QCOMPARE(report->bytesRead, bytes);
        if (!test::FailingDisk::isSupported())
            continue;
        for (const char* name : {"trunk.bin", "experts-L1.bin", "experts-L2.bin", "experts-L3.bin"}) {
            const fs::path file = m_container / name;
            const auto opened = DirectFile::open(file, DirectFile::Access::Direct);
            QVERIFY(opened);
            const bool isDirect = opened->isDirect();
            const std::uint64_t probes = isDirect ? 2 * kDirectIoAlignment : 0; // this one's and the pass's
            const test::FailingDisk::Reads reads = disk.readsOf(file);
            QCOMPARE(reads.bytes, fs::file_size(file) + probes);
            QCOMPARE(reads.cachedBytes, isDirect ? 0 : reads.bytes);
        }
    }
}

void TestVerifier::whatLiesBetweenTensorsIsReadToo()
{
    QVERIFY(damages({.writeIntegrity = true}).empty());
    const TrunkOrder order(m_files->manifest);
    QVERIFY(order.isSequential);
    std::uint64_t gap = 0;
    for (std::size_t i = 1; gap == 0 && i < order.entries.size(); ++i) {
        const TrunkEntry& before = *order.entries[i - 1];
        const bool hasScales = before.layout.scaleBytes > 0;
        const std::uint64_t end =
            hasScales ? before.scaleOffset + before.layout.scaleBytes : before.offset + before.layout.payloadBytes;
        gap = end < order.entries[i]->offset ? end : 0;
    }
    QVERIFY(gap > 0);
    flip("trunk.bin", gap);
    const std::vector<Damage> found = damages();
    QCOMPARE(found.size(), std::size_t{1});
    QCOMPARE(found[0].file, std::string("trunk.bin"));
    QVERIFY(found[0].tensor.empty());

    // Damage inside a tensor is told once, with its name.
    flip("trunk.bin", gap);
    flip("trunk.bin", order.entries[1]->offset);
    const std::vector<Damage> inside = damages();
    QCOMPARE(inside.size(), std::size_t{1});
    QCOMPARE(inside[0].tensor, order.entries[1]->name);
}

// Nothing forbids a foreign converter to store two equal tensors once.
void TestVerifier::tensorsThatShareBytesAreCheckedEach()
{
    const auto entry = [this](const char* name) {
        const auto found = std::ranges::find(m_files->manifest.trunk, name, &TrunkEntry::name);
        return found != m_files->manifest.trunk.end() ? &*found : nullptr;
    };
    TrunkEntry* head = entry("lm_head.weight");
    const TrunkEntry* embedding = entry("model.embed_tokens.weight");
    QVERIFY(head != nullptr && embedding != nullptr);
    head->offset = embedding->offset;
    head->scaleOffset = embedding->scaleOffset;
    head->crc32 = embedding->crc32;
    QVERIFY(!TrunkOrder(m_files->manifest).isSequential);

    QVERIFY(damages({.writeIntegrity = true}).empty());
    const CancelFlag cancel;
    std::uint64_t total = 0;
    const auto report = verifyContainer(
        *m_files, {}, [](const Damage&) {}, [&total](const Progress& progress) { total = progress.total; }, cancel);
    QVERIFY(report);
    QCOMPARE(report->bytesRead, total);

    flip("trunk.bin", embedding->scaleOffset);
    const std::vector<Damage> shared = damages();
    QCOMPARE(shared.size(), std::size_t{2});
    QCOMPARE(std::set<std::string>({shared[0].tensor, shared[1].tensor}),
        std::set<std::string>({head->name, embedding->name}));
    flip("trunk.bin", embedding->scaleOffset);

    flip("trunk.bin", 0); // where the head was, and nothing is now
    const std::vector<Damage> between = damages();
    QCOMPARE(between.size(), std::size_t{1});
    QVERIFY(between[0].tensor.empty());
}

void TestVerifier::cancellingEndsThePass()
{
    CancelFlag cancel;
    int steps = 0;
    const auto report = verifyContainer(
        *m_files, {}, [](const Damage&) {},
        [&](const Progress&) {
            if (++steps == 3)
                cancel.cancel();
        },
        cancel);
    QVERIFY(!report);
    QCOMPARE(report.error().code, ErrorCode::Cancelled);
    QCOMPARE(steps, 3);
}

void TestVerifier::aBankThatShrankIsToldRecordByRecord()
{
    fs::resize_file(m_container / "experts-L2.bin", 4 * 20480 + 1);
    const std::vector<Damage> found = damages({.layer = 2});
    QCOMPARE(found.size(), std::size_t{2});
    QCOMPARE(found[0].expert, std::optional<std::uint32_t>(4));
    QCOMPARE(found[1].expert, std::optional<std::uint32_t>(5));
    QCOMPARE(found[1].error.code, ErrorCode::Corrupt);
}

QTEST_APPLESS_MAIN(TestVerifier)
#include "tst_verifier.moc"
