// What a screen reader sees, walked from the window: every control with a role and a name of its own.

#include "window_driver.h"

#include <QAccessible>
#include <QSet>
#include <QTest>

#include <utility>

using namespace waste::app;
using waste::test::visibleItems;
using waste::test::WindowDriver;

namespace {

QString describe(QAccessibleInterface& element)
{
    return QDebug::toString(element.object()) + " \"" + element.text(QAccessible::Name) + '"';
}

// Appends what is wrong below `element`, and the objects that it found there.
void walk(QAccessibleInterface& element, QStringList& faults, QSet<QObject*>& objects)
{
    QSet<std::pair<QAccessible::Role, QString>> names; // of the controls among the children
    objects << element.object();
    for (int i = 0; i < element.childCount(); ++i) {
        QAccessibleInterface* const child = element.child(i);
        if (child == nullptr || child->state().invisible)
            continue;
        const QString name = child->text(QAccessible::Name);
        const bool isContent = child->role() == QAccessible::StaticText || child->role() == QAccessible::ListItem;
        if (child->role() == QAccessible::NoRole)
            faults << "no role: " + describe(*child);
        if (name.isEmpty() && child->role() != QAccessible::StaticText)
            faults << "no name: " + describe(*child);
        if (!isContent && names.contains({child->role(), name}))
            faults << "the name of a sibling: " + describe(*child);
        names << std::pair{child->role(), name};
        walk(*child, faults, objects);
    }
}

QStringList faultsOf(WindowDriver& driver)
{
    QStringList faults;
    QSet<QObject*> objects;
    walk(*QAccessible::queryAccessibleInterface(&driver.window()), faults, objects);
    for (QQuickItem* item : visibleItems(*driver.window().contentItem())) {
        if (item->activeFocusOnTab() && item->isEnabled() && !objects.contains(item))
            faults << "not there for a screen reader: " + QDebug::toString(item);
    }
    return faults;
}

} // namespace

class TestAccessibility : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QAccessible::setActive(true); }

    void everyControlOfTheStartPageIsNamed()
    {
        WindowDriver driver;
        QVERIFY(driver.waitUntilReady());
        const QStringList faults = faultsOf(driver);
        QVERIFY2(faults.isEmpty(), qPrintable(faults.join("\n")));
    }

    void everyControlOfAConversationIsNamed()
    {
        WindowDriver driver;
        QVERIFY(driver.waitUntilReady());
        driver.app().settings()->setThinkingOpen(true);
        QVERIFY(driver.ask("What is the capital of Japan?"));
        driver.app().chat()->tryAgain();
        QTRY_VERIFY_WITH_TIMEOUT(driver.app().chat()->canRetry(), 60'000);
        QTest::qWait(50);
        const QStringList faults = faultsOf(driver);
        QVERIFY2(faults.isEmpty(), qPrintable(faults.join("\n")));
    }

    void everyControlOfTheSettingsIsNamed()
    {
        WindowDriver driver;
        QVERIFY(driver.waitUntilReady());
        driver.key(Qt::Key_Comma, Qt::ControlModifier);
        QTest::qWait(50);
        const QStringList faults = faultsOf(driver);
        QVERIFY2(faults.isEmpty(), qPrintable(faults.join("\n")));
    }

    void theStripSaysItsSentenceAsItsName()
    {
        WindowDriver driver;
        QVERIFY(driver.waitUntilReady());
        QQuickItem* const strip = driver.item("statusStrip");
        QVERIFY(strip != nullptr);
        const QString name = QAccessible::queryAccessibleInterface(strip)->text(QAccessible::Name);
        QCOMPARE(name, driver.app().status()->announcement());
        QVERIFY(name.contains("Ready"));
    }
};

QTEST_MAIN(TestAccessibility)
#include "tst_accessibility.moc"
