// State files on disk: what is written comes back, and no damage anywhere in a file goes unnoticed. A small
// made-up model stands in for a real one; the file does not care.

#include "base/crc32.h"
#include "base/little_endian.h"
#include "session/state_file.h"

#include <QtTest/QtTest>

#include <fstream>
#include <iterator>
#include <numeric>

#include "fuzz/fuzz_state_file.cpp"

using namespace waste;
using namespace waste::state;

namespace {

constexpr std::uint32_t kContext = 16;

Identity someIdentity()
{
    Identity identity;
    identity.model.fill(std::byte{0x11});
    identity.shape = {.kdaLayerCount = 2,
        .kdaHeadCount = 2,
        .kdaHeadDim = 8,
        .convolutionKernel = 4,
        .mlaLayerCount = 1,
        .kvLoraRank = 6,
        .ropeDim = 2,
        .vocabularySize = 50};
    return identity;
}

std::vector<float> ramp(std::size_t count, float first)
{
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), first);
    return values;
}

// Ten tokens of the model above.
struct SomeState {
    std::vector<TokenId> ids = {3, 1, 4, 1, 5, 9, 2, 6, 5, 49};
    std::vector<float> firstLayer = ramp(128, 0.5F);
    std::vector<float> secondLayer = ramp(128, 1000.5F);
    std::vector<float> windows = ramp(2 * 3 * 16 * 3, -7);
    std::vector<float> rows = ramp(10 * 8, 0.25F);
    std::vector<float> logits = ramp(50, -3);
    std::string metadata = encodeMetadata({.createdUtc = "2026-11-29T15:00:00Z",
        .modelName = "tiny",
        .sampling = {.temperature = 0.7, .topP = 0.9, .topK = 20, .minP = 0.05, .seed = ~std::uint64_t{0}},
        .randomState = 0x853c49e6748fea9b,
        .pictures = {{2, 3}, {7, 1}}});

    Status write(const std::filesystem::path& path, TokenId pending = 7) const
    {
        Header header;
        header.position = ids.size();
        header.identity = someIdentity();
        header.contextTokens = kContext;
        header.pendingToken = pending;
        const auto bytes = [](const auto& values) { return std::as_bytes(std::span(values)); };
        const std::vector<SectionSource> sections = {
            {SectionKind::Ids, {bytes(ids)}},
            {SectionKind::Recurrent, {bytes(firstLayer), bytes(secondLayer)}},
            {SectionKind::Windows, {bytes(windows)}},
            {SectionKind::LatentRows, {bytes(rows)}},
            {SectionKind::Metadata, {bytes(metadata)}},
            {SectionKind::Logits, {bytes(logits)}},
        };
        return writeStateFile(path, header, sections);
    }
};

std::vector<char> readAll(const std::filesystem::path& path)
{
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

void writeAll(const std::filesystem::path& path, const std::vector<char>& bytes)
{
    std::ofstream stream(path, std::ios::binary | std::ios::trunc);
    stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

Result<StateFile> open(const std::filesystem::path& path)
{
    return StateFile::open(path, someIdentity(), kContext);
}

} // namespace

class TestStateFile : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init() { QVERIFY(SomeState().write(path()).has_value()); }

    void readsBackEverySection()
    {
        const SomeState state;
        const Result<StateFile> file = open(path());
        QVERIFY2(file.has_value(), file.has_value() ? "" : file.error().message.c_str());
        QCOMPARE(file->header().position, 10U);
        QCOMPARE(file->header().pendingToken, 7);
        QVERIFY(file->ids() == state.ids);

        std::vector<float> first(100);
        std::vector<float> rest(156);
        const std::array pieces = {std::as_writable_bytes(std::span(first)), std::as_writable_bytes(std::span(rest))};
        QVERIFY(file->read(SectionKind::Recurrent, pieces).has_value());
        first.insert(first.end(), rest.begin(), rest.end());
        std::vector<float> expected = state.firstLayer;
        expected.insert(expected.end(), state.secondLayer.begin(), state.secondLayer.end());
        QVERIFY(first == expected);

        std::vector<float> logits(50);
        const std::span<std::byte> piece = std::as_writable_bytes(std::span(logits));
        QVERIFY(file->read(SectionKind::Logits, {&piece, 1}).has_value());
        QVERIFY(logits == state.logits);

        const Metadata& metadata = file->metadata();
        QCOMPARE(metadata.createdUtc, std::string("2026-11-29T15:00:00Z"));
        QCOMPARE(metadata.modelName, std::string("tiny"));
        QCOMPARE(metadata.sampling.temperature, 0.7);
        QCOMPARE(metadata.sampling.topP, 0.9);
        QCOMPARE(metadata.sampling.topK, 20U);
        QCOMPARE(metadata.sampling.minP, 0.05);
        QCOMPARE(metadata.sampling.seed, ~std::uint64_t{0});
        QCOMPARE(metadata.randomState, 0x853c49e6748fea9bU);
        QVERIFY((metadata.pictures == std::vector<PictureSpan>{{2, 3}, {7, 1}}));
    }

    void laysTheSectionsOutInWholePages()
    {
        const std::vector<char> bytes = readAll(path());
        const auto view = std::as_bytes(std::span(bytes));
        QCOMPARE(bytes.size(), std::size_t{7 * 4096});
        QCOMPARE(loadLittle<std::uint64_t>(view, 16), std::uint64_t{bytes.size()});
        QCOMPARE(loadLittle<TokenId>(view, 4096), 3); // the first id
        QCOMPARE(loadLittle<TokenId>(view, 4096 + 36), 49);
        QCOMPARE(crc32(view.subspan(4096, 40)), loadLittle<std::uint32_t>(view, 256 + 24));
        QCOMPARE(loadLittle<float>(view, 2 * 4096), 0.5F);
        QCOMPARE(loadLittle<float>(view, 2 * 4096 + 512), 1000.5F); // the second layer follows the first
    }

    void findsAFlippedBitInEveryByte()
    {
        const std::vector<char> bytes = readAll(path());
        std::fstream stream(path(), std::ios::binary | std::ios::in | std::ios::out);
        const auto put = [&stream](std::size_t i, char byte) {
            stream.seekp(static_cast<std::streamoff>(i));
            stream.put(byte).flush();
        };
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            put(i, static_cast<char>(bytes[i] ^ static_cast<char>(1U << (i % 8))));
            const Result<StateFile> file = open(path());
            put(i, bytes[i]);
            QVERIFY2(!file.has_value(), qPrintable(QString::number(i)));
            const bool version = i > 8 && i < 12; // at 8 the flip makes it version 0
            QVERIFY(version ? file.error().code == ErrorCode::Unsupported : file.error().reason == "damaged");
        }
    }

    void refusesFilesThatWereCutOrGrown()
    {
        const std::vector<char> bytes = readAll(path());
        for (std::size_t size = 0; size < bytes.size(); size += size % 4096 == 0 || size % 4096 == 4095 ? 1 : 4094) {
            writeAll(damagedPath(), {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)});
            const Result<StateFile> file = open(damagedPath());
            QVERIFY2(!file.has_value() && file.error().reason == "damaged", qPrintable(QString::number(size)));
        }
        for (const std::size_t more : {1U, 4096U, 100000U}) {
            std::vector<char> grown = bytes;
            grown.resize(bytes.size() + more);
            writeAll(damagedPath(), grown);
            const Result<StateFile> file = open(damagedPath());
            QVERIFY(!file.has_value() && file.error().reason == "damaged");
        }
    }

    void namesFileAndContextWhenTheContextIsTooSmall()
    {
        QVERIFY(StateFile::open(path(), someIdentity(), 11).has_value());
        const Result<StateFile> file = StateFile::open(path(), someIdentity(), 10);
        QVERIFY(!file.has_value());
        QCOMPARE(file.error().code, ErrorCode::InvalidArgument);
        const QString message = QString::fromStdString(file.error().message);
        QVERIFY(message.contains("state.wst") && message.contains("at least 11") && message.contains("1 MiB"));
    }

    void tellsTheStateOfAnotherModel()
    {
        Identity other = someIdentity();
        other.model[0] = std::byte{0};
        const Result<StateFile> file = StateFile::open(path(), other, kContext);
        QVERIFY(!file.has_value());
        QCOMPARE(file.error().reason, std::string("other_model"));
    }

    void refusesIdsOutsideTheVocabulary()
    {
        for (const TokenId id : {-1, 50}) {
            SomeState state;
            state.ids[4] = id;
            QVERIFY(state.write(path()).has_value());
            const Result<StateFile> file = open(path());
            QVERIFY(!file.has_value() && file.error().reason == "damaged");
        }
    }

    void noticesAFileThatChangesAfterItWasChecked()
    {
        const Result<StateFile> file = open(path());
        QVERIFY(file.has_value());
        std::fstream stream(path(), std::ios::binary | std::ios::in | std::ios::out);
        stream.seekp(4 * 4096 + 5);
        stream.put('x');
        stream.close();
        std::vector<float> rows(80);
        const std::span<std::byte> piece = std::as_writable_bytes(std::span(rows));
        const Status status = file->read(SectionKind::LatentRows, {&piece, 1});
        QVERIFY(!status.has_value() && status.error().reason == "damaged");
    }

    void keepsTheOldFileWhenTheNewOneCannotBeWritten()
    {
        const std::filesystem::path missing = path().parent_path() / "missing" / "state.wst";
        QVERIFY(!SomeState().write(missing).has_value());
        QVERIFY(open(path()).has_value());
        QCOMPARE(std::distance(std::filesystem::directory_iterator(path().parent_path()), {}), 1);
    }

    void refusesDescriptionsThatNoWriterWrote_data()
    {
        QTest::addColumn<QByteArray>("json");
        const char* sampling = R"("sampling":{"temperature":1,"top_p":1,"top_k":0,"min_p":0,"seed":"0"},"rng":"1")";
        const auto row = [&](const char* name, QByteArray json) { QTest::newRow(name) << json.replace("$", sampling); };
        row("empty", "");
        row("no object", "[]");
        row("cut", "{$");
        row("without rng", R"({"sampling":{"temperature":1,"top_p":1,"top_k":0,"min_p":0,"seed":"0"}})");
        row("rng as a number", R"({"rng":1,"sampling":{"temperature":1,"top_p":1,"top_k":0,"min_p":0,"seed":"0"}})");
        row("rng too large",
            R"({"rng":"18446744073709551616","sampling":{"temperature":1,"top_p":1,"top_k":0,"min_p":0,"seed":"0"}})");
        row("negative temperature",
            R"({"rng":"1","sampling":{"temperature":-1,"top_p":1,"top_k":0,"min_p":0,"seed":"0"}})");
        row("top_p 0", R"({"rng":"1","sampling":{"temperature":1,"top_p":0,"top_k":0,"min_p":0,"seed":"0"}})");
        row("fractional top_k",
            R"({"rng":"1","sampling":{"temperature":1,"top_p":1,"top_k":1.5,"min_p":0,"seed":"0"}})");
        row("images no list", R"({$,"images":{}})");
        row("picture behind the end", R"({$,"images":[{"position":9,"count":2}]})");
        row("pictures overlap", R"({$,"images":[{"position":2,"count":2},{"position":3,"count":1}]})");
        row("empty picture", R"({$,"images":[{"position":2,"count":0}]})");
        row("huge count", R"({$,"images":[{"position":2,"count":18446744073709551615}]})");
        row("too deep", R"({$,"replies":)" + QByteArray(100'000, '[') + QByteArray(100'000, ']') + "}");
    }

    void refusesDescriptionsThatNoWriterWrote()
    {
        QFETCH(const QByteArray, json);
        SomeState state;
        state.metadata = json.toStdString();
        QVERIFY(state.write(path()).has_value());
        const Result<StateFile> file = open(path());
        QVERIFY(!file.has_value());
        QCOMPARE(file.error().code, ErrorCode::Corrupt);
        QCOMPARE(file.error().reason, std::string("damaged"));
    }

    void passesOverMembersOfLaterVersions()
    {
        SomeState state;
        state.metadata =
            R"({"sampling":{"temperature":1,"top_p":1,"top_k":0,"min_p":0,"seed":"0","x":[]},"rng":"1","y":{}})";
        QVERIFY(state.write(path()).has_value());
        QVERIFY(open(path()).has_value());
    }

    void survivesItsFuzzingCorpus()
    {
        int count = 0;
        for (const auto& entry :
            std::filesystem::directory_iterator(WASTE_SOURCE_DIR "/tests/fuzz/corpus/state_file")) {
            const std::vector<char> bytes = readAll(entry.path());
            LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
            ++count;
        }
        QVERIFY(count >= 3);
    }

private:
    std::filesystem::path path() const { return std::filesystem::path(m_folder.path().toStdString()) / "state.wst"; }
    std::filesystem::path damagedPath() const
    {
        return std::filesystem::path(m_damagedFolder.path().toStdString()) / "state.wst";
    }

    QTemporaryDir m_folder;
    QTemporaryDir m_damagedFolder;
};

QTEST_APPLESS_MAIN(TestStateFile)
#include "tst_state_file.moc"
