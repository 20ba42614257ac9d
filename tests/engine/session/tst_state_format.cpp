// The header of a state file: every field at its place, every damage found, every reason the right one.

#include "session/state_format.h"

#include "base/crc32.h"
#include "base/little_endian.h"

#include <QtTest/QtTest>

#include <functional>

using namespace waste;
using namespace waste::state;

namespace {

constexpr Shape kShape = {.kdaLayerCount = 2,
    .kdaHeadCount = 3,
    .kdaHeadDim = 4,
    .convolutionKernel = 4,
    .mlaLayerCount = 1,
    .kvLoraRank = 5,
    .ropeDim = 2,
    .vocabularySize = 100};

Identity someIdentity()
{
    Identity identity;
    identity.model.fill(std::byte{0xA1});
    identity.tokenizer.fill(std::byte{0xB2});
    identity.kernels = KernelClass::Reduced;
    identity.shape = kShape;
    return identity;
}

// 7 tokens; sections one after another, each at its own page.
Header someHeader()
{
    Header header;
    header.position = 7;
    header.identity = someIdentity();
    header.contextTokens = 64;
    header.pendingToken = 42;
    std::uint64_t offset = kHeaderBytes;
    for (const std::uint32_t kind : {1U, 2U, 3U, 4U, 5U, 6U}) {
        Section section;
        section.kind = static_cast<SectionKind>(kind);
        section.offsetBytes = offset;
        section.bytes = expectedBytes(section.kind, kShape, header.position).value_or(20);
        section.checksum = 0xC0DE0000U + kind;
        header.sections.push_back(section);
        offset += kAlignment;
    }
    header.fileBytes = header.sections.back().offsetBytes + header.sections.back().bytes;
    return header;
}

Status checkAll(const Header& header)
{
    WASTE_TRY(const Header decoded, decodeHeader(encodeHeader(header), "f"));
    WASTE_TRY_STATUS(checkIdentity(decoded.identity, someIdentity(), "f"));
    return checkLayout(decoded, someHeader().fileBytes, "f");
}

} // namespace

class TestStateFormat : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void putsEveryFieldWhereTheSpecificationSays()
    {
        const auto bytes = encodeHeader(someHeader());
        const std::span<const std::byte> view = bytes;
        QCOMPARE(QByteArray(reinterpret_cast<const char*>(bytes.data()), 8), QByteArray("WSTSTATE"));
        QCOMPARE(loadLittle<std::uint32_t>(view, 8), 1U);
        QCOMPARE(loadLittle<std::uint64_t>(view, 16), someHeader().fileBytes);
        QCOMPARE(loadLittle<std::uint64_t>(view, 24), 7U);
        QVERIFY(view[32] == std::byte{0xA1} && view[63] == std::byte{0xA1});
        QVERIFY(view[64] == std::byte{0xB2} && view[95] == std::byte{0xB2});
        const std::array<std::uint32_t, 10> words = {1, 64, 2, 3, 4, 4, 1, 5, 2, 100};
        QVERIFY((loadLittle<std::array<std::uint32_t, 10>>(view, 96) == words));
        QCOMPARE(loadLittle<std::int32_t>(view, 136), 42);
        QCOMPARE(loadLittle<std::uint32_t>(view, 140), 6U);
        QCOMPARE(loadLittle<std::uint32_t>(view, 256), 1U); // ids
        QCOMPARE(loadLittle<std::uint64_t>(view, 264), 4096U);
        QCOMPARE(loadLittle<std::uint64_t>(view, 272), 28U);
        QCOMPARE(loadLittle<std::uint32_t>(view, 280), 0xC0DE0001U);
        QCOMPARE(loadLittle<std::uint32_t>(view, 288), 2U); // S
        QCOMPARE(loadLittle<std::uint64_t>(view, 304), 4U * 2 * 3 * 4 * 4);

        auto zeroed = bytes;
        storeLittle(std::span(zeroed), 12, std::uint32_t{0});
        QCOMPARE(loadLittle<std::uint32_t>(view, 12), crc32(zeroed));
    }

    void readsBackWhatItWrote()
    {
        const Result<Header> header = decodeHeader(encodeHeader(someHeader()), "f");
        QVERIFY(header.has_value());
        QCOMPARE(header->position, 7U);
        QCOMPARE(header->contextTokens, 64U);
        QCOMPARE(header->pendingToken, 42);
        QVERIFY(header->identity.shape == kShape);
        QVERIFY(header->identity.kernels == KernelClass::Reduced);
        QCOMPARE(header->sections.size(), 6U);
        QCOMPARE(header->find(SectionKind::Logits)->bytes, 400U);
        QVERIFY(header->find(SectionKind::PictureRows) == nullptr);
        QVERIFY(checkAll(someHeader()).has_value());
    }

    void findsEveryFlippedBit()
    {
        auto bytes = encodeHeader(someHeader());
        for (std::size_t bit = 0; bit < kHeaderBytes * 8; ++bit) {
            const auto mask = std::byte{1} << static_cast<int>(bit % 8);
            bytes[bit / 8] ^= mask;
            const Result<Header> header = decodeHeader(bytes, "f");
            QVERIFY2(!header.has_value(), qPrintable(QString::number(bit)));
            const bool version = bit >= 8 * 8 && bit < 12 * 8;
            if (version)
                QVERIFY(header.error().code == ErrorCode::Unsupported || header.error().reason == "damaged");
            else
                QVERIFY(header.error().code == ErrorCode::Corrupt && header.error().reason == "damaged");
            bytes[bit / 8] ^= mask;
        }
    }

    void refusesALaterVersionAsUnsupported()
    {
        auto bytes = encodeHeader(someHeader());
        storeLittle(std::span(bytes), 8, std::uint32_t{2});
        const Result<Header> header = decodeHeader(bytes, "f");
        QVERIFY(!header.has_value());
        QCOMPARE(header.error().code, ErrorCode::Unsupported);
        QVERIFY(QString::fromStdString(header.error().message).contains("version 2"));
    }

    void refusesWhatAWriterNeverWrites_data()
    {
        using Change = std::function<void(Header&)>;
        QTest::addColumn<Change>("change");
        const auto row = [](const char* name, Change change) { QTest::newRow(name) << change; };
        row("length too small", [](Header& h) { h.fileBytes -= 1; });
        row("length too large", [](Header& h) { h.fileBytes += 1; });
        row("no sections", [](Header& h) { h.sections.clear(); });
        for (std::size_t i = 0; i < 5; ++i) {
            QTest::addRow("without section %zu", i + 1)
                << Change([i](Header& h) { h.sections.erase(h.sections.begin() + static_cast<std::ptrdiff_t>(i)); });
        }
        row("ids twice", [](Header& h) { h.sections[5] = h.sections[0]; });
        row("logits twice", [](Header& h) { h.sections.push_back(h.sections[5]); });
        row("section not at a page", [](Header& h) { h.sections[4].offsetBytes += 8; });
        row("section in the header", [](Header& h) { h.sections[4].offsetBytes = 0; });
        row("section behind the end", [](Header& h) { h.sections[4].offsetBytes = 1U << 20U; });
        row("section across the end", [](Header& h) { h.sections[4].bytes = 1U << 20U; });
        row("offset and length overflow", [](Header& h) {
            h.sections[4].offsetBytes = ~std::uint64_t{4095};
            h.sections[4].bytes = 8192;
        });
        row("sections overlap", [](Header& h) { h.sections[4].offsetBytes = h.sections[3].offsetBytes; });
        row("ids too short", [](Header& h) { h.sections[0].bytes -= 4; });
        row("S too long", [](Header& h) { h.sections[1].bytes += 4; });
        row("position disagrees", [](Header& h) { h.position += 1; });
        row("position overflows", [](Header& h) { h.position = std::uint64_t{1} << 62U; });
        row("description too long", [](Header& h) { h.sections[4].bytes = kMetadataBytesMax + 1; });
        row("unknown kind", [](Header& h) { h.sections[5].kind = static_cast<SectionKind>(9); });
        row("kind 0", [](Header& h) { h.sections[5].kind = static_cast<SectionKind>(0); });
        row("pending token too large", [](Header& h) { h.pendingToken = 100; });
        row("pending token below -1", [](Header& h) { h.pendingToken = -2; });
    }

    void refusesWhatAWriterNeverWrites()
    {
        QFETCH(const std::function<void(Header&)>, change);
        Header header = someHeader();
        change(header);
        const Status status = checkAll(header);
        QVERIFY(!status.has_value());
        QCOMPARE(status.error().code, ErrorCode::Corrupt);
        QCOMPARE(status.error().reason, std::string("damaged"));
        QVERIFY(status.error().message.starts_with("f: "));
    }

    void refusesMoreSectionsThanTheHeaderHolds()
    {
        auto bytes = encodeHeader(someHeader());
        const std::span<std::byte> view = bytes;
        storeLittle(view, 140, kSectionsMax + 1);
        storeLittle(view, 12, std::uint32_t{0});
        storeLittle(view, 12, crc32(view));
        QVERIFY(!decodeHeader(bytes, "f").has_value());
    }

    void passesOverUnknownSectionsThatSayTheyMayBeSkipped()
    {
        Header header = someHeader();
        header.sections[5].kind = static_cast<SectionKind>(99);
        header.sections[5].flags = Section::kMayBeSkipped;
        QVERIFY(checkAll(header).has_value());
    }

    void tellsAnotherModelFromOtherKernels_data()
    {
        using Change = std::function<void(Identity&)>;
        QTest::addColumn<Change>("change");
        QTest::addColumn<QString>("reason");
        const auto row = [](const char* name, const char* reason, Change change) {
            QTest::newRow(name) << change << QString(reason);
        };
        row("same", "", [](Identity&) {});
        row("model", "other_model", [](Identity& i) { i.model[31] = std::byte{0}; });
        row("tokenizer", "other_model", [](Identity& i) { i.tokenizer = {}; });
        row("shape", "other_model", [](Identity& i) { i.shape.ropeDim += 1; });
        row("kernels", "other_kernels", [](Identity& i) { i.kernels = KernelClass::Exact; });
        row("model and kernels", "other_model", [](Identity& i) {
            i.kernels = KernelClass::Exact;
            i.model = {};
        });
    }

    void tellsAnotherModelFromOtherKernels()
    {
        QFETCH(const std::function<void(Identity&)>, change);
        QFETCH(const QString, reason);
        Identity identity = someIdentity();
        change(identity);
        const Status status = checkIdentity(identity, someIdentity(), "f");
        QCOMPARE(status.has_value(), reason.isEmpty());
        if (!status.has_value()) {
            QCOMPARE(status.error().code, ErrorCode::Corrupt);
            QCOMPARE(QString::fromStdString(status.error().reason), reason);
        }
    }

    void givesZeroBytesToKindsOfLayersThatAModelLacks()
    {
        Shape shape = kShape;
        shape.kdaLayerCount = shape.kdaHeadCount = shape.kdaHeadDim = shape.convolutionKernel = 0;
        QCOMPARE(expectedBytes(SectionKind::Recurrent, shape, 7), std::optional<std::uint64_t>(0));
        QCOMPARE(expectedBytes(SectionKind::Windows, shape, 7), std::optional<std::uint64_t>(0));
        QCOMPARE(expectedBytes(SectionKind::LatentRows, shape, 7), std::optional<std::uint64_t>(4 * 7 * 7));
        shape.mlaLayerCount = 0;
        QCOMPARE(expectedBytes(SectionKind::LatentRows, shape, 7), std::optional<std::uint64_t>(0));
    }
};

QTEST_APPLESS_MAIN(TestStateFormat)
#include "tst_state_format.moc"
