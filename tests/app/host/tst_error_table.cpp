// One row per error: exit code, JSON code and reason of specification cli B.3, literally.

#include "host/error_table.h"

#include <nlohmann/json.hpp>

#include <QTest>

#include <string>

using namespace waste;

class TestErrorTable : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void givesEveryErrorItsPlaceInTheTable_data()
    {
        QTest::addColumn<ErrorCode>("code");
        QTest::addColumn<int>("exitCode");
        QTest::addColumn<QByteArray>("json");
        QTest::newRow("Io") << ErrorCode::Io << 1
                            << QByteArray(R"({"event":"error","code":"failed","reason":"io","message":"m","exit":1})");
        QTest::newRow("OutOfMemory")
            << ErrorCode::OutOfMemory << 1
            << QByteArray(R"({"event":"error","code":"failed","reason":"out_of_memory","message":"m","exit":1})");
        QTest::newRow("Busy") << ErrorCode::Busy << 1
                              << QByteArray(
                                     R"({"event":"error","code":"failed","reason":"busy","message":"m","exit":1})");
        QTest::newRow("Internal")
            << ErrorCode::Internal << 1
            << QByteArray(R"({"event":"error","code":"failed","reason":"internal","message":"m","exit":1})");
        QTest::newRow("InvalidArgument") << ErrorCode::InvalidArgument << 2
                                         << QByteArray(R"({"event":"error","code":"usage","message":"m","exit":2})");
        QTest::newRow("RamBudget") << ErrorCode::RamBudget << 3
                                   << QByteArray(R"({"event":"error","code":"ram_budget","message":"m","exit":3})");
        QTest::newRow("Corrupt") << ErrorCode::Corrupt << 4
                                 << QByteArray(R"({"event":"error","code":"damaged","message":"m","exit":4})");
        QTest::newRow("Unsupported") << ErrorCode::Unsupported << 5
                                     << QByteArray(R"({"event":"error","code":"unsupported","message":"m","exit":5})");
        QTest::newRow("NotFound") << ErrorCode::NotFound << 6
                                  << QByteArray(R"({"event":"error","code":"not_found","message":"m","exit":6})");
        QTest::newRow("NoSpace") << ErrorCode::NoSpace << 7
                                 << QByteArray(R"({"event":"error","code":"no_space","message":"m","exit":7})");
        QTest::newRow("Network") << ErrorCode::Network << 8
                                 << QByteArray(R"({"event":"error","code":"network","message":"m","exit":8})");
        QTest::newRow("Cancelled") << ErrorCode::Cancelled << 130
                                   << QByteArray(R"({"event":"error","code":"cancelled","message":"m","exit":130})");
    }
    void givesEveryErrorItsPlaceInTheTable()
    {
        QFETCH(ErrorCode, code);
        QFETCH(int, exitCode);
        QFETCH(QByteArray, json);
        QCOMPARE(host::errorKind(code).exitCode, exitCode);
        QCOMPARE(QByteArray::fromStdString(host::errorEvent({code, "", "m"}).dump()), json);
    }

    void anErrorsOwnReasonComesFirst()
    {
        const auto event = host::errorEvent({ErrorCode::Io, "invalid_image", "m"});
        QCOMPARE(event["reason"].get<std::string>(), std::string("invalid_image"));
    }
};

QTEST_APPLESS_MAIN(TestErrorTable)
#include "tst_error_table.moc"
