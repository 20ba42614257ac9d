// Headers of safetensors files, good and hostile (spec: conversion 1.1).

#include "checkpoint/safetensors.h"

#include <QTest>

#include <string>

using namespace waste;

namespace {

constexpr std::uint64_t kDataBytes = 64;

// A header in front of 64 bytes of data.
Result<SafetensorsHeader> parse(const std::string& json)
{
    return parseSafetensorsHeader(json, kSafetensorsPreambleBytes + json.size() + kDataBytes, "a.safetensors");
}

std::string tensor(
    const std::string& name, const std::string& shape, int begin, int end, const std::string& type = "F32")
{
    return "\"" + name + "\":{\"dtype\":\"" + type + "\",\"shape\":" + shape + ",\"data_offsets\":["
        + std::to_string(begin) + "," + std::to_string(end) + "]}";
}

} // namespace

class SafetensorsTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void tensorsComeSortedWithPlacesInTheFile()
    {
        const std::string json = "{" + tensor("b", "[2,6]", 16, 64) + ",\"__metadata__\":{\"format\":\"pt\"},"
            + tensor("a", "[4]", 0, 16) + "}  ";
        const auto header = parse(json);
        QVERIFY2(header.has_value(), header ? "" : header.error().message.c_str());
        QCOMPARE(header->entries.size(), std::size_t{2});
        QCOMPARE(header->entries[0].name, std::string("a"));
        QCOMPARE(header->entries[1].shape, (std::vector<std::uint64_t>{2, 6}));
        QCOMPARE(header->entries[1].offsetBytes, 8 + json.size() + 16);
        QCOMPARE(header->entries[1].bytes, std::uint64_t{48});
        QVERIFY(!header->hasHoles);
    }

    void scalarsAndEmptyTensorsAreLegal()
    {
        const auto header = parse("{" + tensor("scalar", "[]", 0, 4) + "," + tensor("nothing", "[0,5]", 4, 4) + "}");
        QVERIFY(header.has_value());
        QCOMPARE(header->entries[0].bytes, std::uint64_t{0});
        QCOMPARE(elementCount(header->entries[1].shape), std::uint64_t{1});
    }

    void unknownMembersArePassedOver()
    {
        const auto header =
            parse("{\"a\":{\"note\":{\"deep\":[1,[2,{}]]},\"dtype\":\"F32\",\"more\":null,\"shape\":[16],"
                  "\"data_offsets\":[0,64]}}");
        QVERIFY(header.has_value());
    }

    void bytesOfNobodyAreReportedAsHoles()
    {
        QVERIFY(parse("{" + tensor("a", "[4]", 0, 16) + "," + tensor("b", "[4]", 20, 36) + "}")->hasHoles);
        QVERIFY(parse("{" + tensor("a", "[4]", 0, 16) + "}")->hasHoles);
    }

    void hostileHeadersAreRefusedWithFileAndPlace_data()
    {
        QTest::addColumn<QString>("json");
        QTest::addColumn<QString>("place");
        const auto row = [](const char* name, const std::string& json, const char* place) {
            QTest::newRow(name) << QString::fromStdString(json) << place;
        };
        row("empty", "", "header");
        row("not JSON", "{\"a\":", "header");
        row("text after the root", "{}{}", "header");
        row("an array", "[]", "header");
        row("a number", "1", "header");
        row("invalid UTF-8 in a name", std::string("{\"\\ud800\":{}}"), "header");
        row("a tensor that is a number", "{\"a\":1}", "tensor \"a\"");
        row("a tensor that is a list", "{\"a\":[]}", "tensor \"a\"");
        row("no members", "{\"a\":{}}", "tensor \"a\"");
        row("no offsets", "{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", "tensor \"a\"");
        row("the same member twice",
            "{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "tensor \"a\"");
        row("the same name twice", "{" + tensor("a", "[4]", 0, 16) + "," + tensor("a", "[4]", 16, 32) + "}",
            "tensor \"a\"");
        row("a type as number", "{\"a\":{\"dtype\":4,\"shape\":[1],\"data_offsets\":[0,4]}}", "tensor \"a\"");
        row("an unknown type", "{" + tensor("a", "[4]", 0, 16, "F4") + "}", "tensor \"a\"");
        row("a shape as string", "{" + tensor("a", "\"4\"", 0, 16) + "}", "tensor \"a\"");
        row("a nested shape", "{" + tensor("a", "[[4]]", 0, 16) + "}", "tensor \"a\"");
        row("a fractional dimension", "{" + tensor("a", "[4.0]", 0, 16) + "}", "tensor \"a\"");
        row("a negative dimension", "{" + tensor("a", "[-4]", 0, 16) + "}", "tensor \"a\"");
        row("a huge dimension", "{" + tensor("a", "[2147483649]", 0, 16) + "}", "tensor \"a\"");
        row("a dimension beyond 64 bits", "{" + tensor("a", "[99999999999999999999999]", 0, 16) + "}", "tensor \"a\"");
        row("nine dimensions", "{" + tensor("a", "[1,1,1,1,1,1,1,1,4]", 0, 16) + "}", "tensor \"a\"");
        row("a product that overflows to the right size", "{" + tensor("a", "[2147483648,2147483648,4]", 0, 0) + "}",
            "tensor \"a\"");
        row("a product that overflows to zero", "{" + tensor("a", "[2147483648,2147483648,2147483648,0]", 0, 0) + "}",
            "tensor \"a\"");
        row("fewer bytes than the shape", "{" + tensor("a", "[5]", 0, 16) + "}", "tensor \"a\"");
        row("more bytes than the shape", "{" + tensor("a", "[3]", 0, 16) + "}", "tensor \"a\"");
        row("bytes beyond the file", "{" + tensor("a", "[17]", 0, 68) + "}", "tensor \"a\"");
        row("a begin behind the end", "{" + tensor("a", "[4]", 32, 16) + "}", "tensor \"a\"");
        row("negative offsets", "{" + tensor("a", "[4]", -16, 0) + "}", "tensor \"a\"");
        row("offsets at the end of 64 bits",
            "{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":"
            "[18446744073709551600,18446744073709551615]}}",
            "tensor \"a\"");
        row("one offset", "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", "tensor \"a\"");
        row("three offsets", "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}}", "tensor \"a\"");
        row("overlap", "{" + tensor("a", "[5]", 0, 20) + "," + tensor("b", "[5]", 16, 36) + "}", "\"a\" and \"b\"");
        row("the same bytes", "{" + tensor("a", "[4]", 0, 16) + "," + tensor("b", "[4]", 0, 16) + "}", "overlap");
        row("nesting without end", "{\"__metadata__\":" + std::string(100'000, '['), "too deeply");
        row("objects without end", std::string(100'000, '{'), "header");
    }
    void hostileHeadersAreRefusedWithFileAndPlace()
    {
        QFETCH(QString, json);
        QFETCH(QString, place);
        const auto header = parse(json.toStdString());
        QVERIFY(!header);
        const QString message = QString::fromStdString(header.error().message);
        QVERIFY2(message.startsWith("a.safetensors: "), qPrintable(message));
        QVERIFY2(message.contains(place), qPrintable(message));
        QCOMPARE(header.error().code, message.contains("not known") ? ErrorCode::Unsupported : ErrorCode::Corrupt);
    }

    void aHeaderLongerThanItsFileIsRefused_data()
    {
        QTest::addColumn<quint64>("preamble");
        QTest::addColumn<quint64>("fileBytes");
        QTest::newRow("cut before the length") << quint64{0} << quint64{7};
        QTest::newRow("empty file") << quint64{0} << quint64{0};
        QTest::newRow("cut inside the header") << quint64{100} << quint64{107};
        QTest::newRow("above the limit") << quint64{100'000'001} << (quint64{1} << 40);
        QTest::newRow("all ones") << ~quint64{0} << quint64{1000};
    }
    void aHeaderLongerThanItsFileIsRefused()
    {
        QFETCH(quint64, preamble);
        QFETCH(quint64, fileBytes);
        const auto bytes = safetensorsHeaderBytes(preamble, fileBytes, "a.safetensors");
        QVERIFY(!bytes);
        QCOMPARE(bytes.error().code, ErrorCode::Corrupt);
        QCOMPARE(*safetensorsHeaderBytes(100, 108, "a.safetensors"), std::uint64_t{100});
    }
};

QTEST_APPLESS_MAIN(SafetensorsTest)
#include "tst_safetensors.moc"
