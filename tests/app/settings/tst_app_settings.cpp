// What a person chose is effective at once, on disk a moment later, and there again at the next start.

#include "settings/app_settings.h"

#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include <fstream>

using namespace waste::app;

namespace {

const AppSettings::Background kAtOnce = [](const std::function<void()>& task) { task(); };

} // namespace

class TestAppSettings : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void choicesComeBack()
    {
        const QTemporaryDir folder;
        {
            AppSettings settings(folder.path().toStdString(), kAtOnce);
            settings.setTheme(AppSettings::Theme::HighContrast);
            settings.setZoom(1.25);
            settings.setEnterSends(false);
            settings.setThinking(false);
            settings.setEffort(AppSettings::Effort::Max);
            settings.setThinkingOpen(true);
            settings.setReducedMotion(true);
            settings.saveNow();
        }
        const AppSettings settings(folder.path().toStdString(), kAtOnce);
        QCOMPARE(settings.theme(), AppSettings::Theme::HighContrast);
        QCOMPARE(settings.zoom(), 1.25);
        QCOMPARE(settings.enterSends(), false);
        QCOMPARE(settings.thinking(), false);
        QCOMPARE(settings.effortName(), std::string("max"));
        QCOMPARE(settings.thinkingOpen(), true);
        QCOMPARE(settings.reducedMotion(), true);
        QVERIFY(settings.fileError().isEmpty());
    }

    void changesAreWrittenSoonAndTogether()
    {
        const QTemporaryDir folder;
        int writes = 0;
        AppSettings settings(folder.path().toStdString(), [&writes](const std::function<void()>& task) {
            ++writes;
            task();
        });
        QSignalSpy changes(&settings, &AppSettings::zoomChanged);
        for (int i = 0; i <= 20; ++i)
            settings.setZoom(1 + i * 0.05);
        settings.setZoom(5); // out of range
        QCOMPARE(settings.zoom(), 2.0);
        QCOMPARE(changes.size(), 20);
        QTRY_COMPARE(writes, 1);
        QTest::qWait(700);
        QCOMPARE(writes, 1);
    }

    void autoFollowsTheSystem()
    {
        const QTemporaryDir folder;
        AppSettings settings(folder.path().toStdString(), kAtOnce);
        QSignalSpy changes(&settings, &AppSettings::themeChanged);
        QCOMPARE(settings.effectiveTheme(), AppSettings::Theme::Light);
        settings.setSystemIsDark(true);
        QCOMPARE(settings.effectiveTheme(), AppSettings::Theme::Dark);
        QCOMPARE(changes.size(), 1);
        settings.setTheme(AppSettings::Theme::Light);
        settings.setSystemIsDark(false);
        QCOMPARE(changes.size(), 2);
    }

    void nonsenseInTheFileIsPassedOverAndDamageIsNotOverwritten()
    {
        const QTemporaryDir folder;
        const auto file = std::filesystem::path(folder.path().toStdString()) / "desktop.json";
        std::ofstream(file) << R"({"theme":"plaid","zoom":"big","enter_sends":1,"effort":7,"thinking":false})";
        {
            const AppSettings settings(folder.path().toStdString(), kAtOnce);
            QCOMPARE(settings.theme(), AppSettings::Theme::Auto);
            QCOMPARE(settings.zoom(), 1.0);
            QCOMPARE(settings.enterSends(), true);
            QCOMPARE(settings.effort(), AppSettings::Effort::Low);
            QCOMPARE(settings.thinking(), false);
        }
        std::ofstream(file) << "{";
        AppSettings settings(folder.path().toStdString(), kAtOnce);
        QVERIFY(!settings.fileError().isEmpty());
        settings.setZoom(1.5);
        settings.saveNow();
        QCOMPARE(std::filesystem::file_size(file), std::uintmax_t{1});
        QCOMPARE(settings.zoom(), 1.5);
    }
};

QTEST_GUILESS_MAIN(TestAppSettings)
#include "tst_app_settings.moc"
