// What a person can drop on the window and no model can see: each is refused with its name and the reason, at once,
// and neither the text nor the pictures that are attached already are lost.

#include "chat/attachment_images.h"
#include "support/canvas.h"
#include "support/picture_formats.h"
#include "window_driver.h"

#include <QClipboard>
#include <QDir>
#include <QDropEvent>
#include <QGuiApplication>
#include <QImage>
#include <QMimeData>
#include <QQuickItem>
#include <QRandomGenerator>
#include <QTest>

#if defined(Q_OS_UNIX)
#include <sys/stat.h>
#include <unistd.h>
#endif

using namespace waste::app;
using namespace waste::test;

namespace {

Canvas drawing()
{
    Canvas canvas(120, 90, {255, 255, 255, 255});
    canvas.draw(Canvas::Shape::Circle, {200, 30, 30, 255}, 60, 45, 35);
    return canvas;
}

// As a file manager does it.
bool drop(QQuickWindow& window, const QList<QUrl>& files, const QPointF& place)
{
    QMimeData content;
    content.setUrls(files);
    QDragEnterEvent enter(place.toPoint(), Qt::CopyAction, &content, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(&window, &enter);
    QDragMoveEvent move(place.toPoint(), Qt::CopyAction, &content, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(&window, &move);
    QDropEvent event(place, Qt::CopyAction, &content, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(&window, &event);
    return event.isAccepted();
}

bool drop(QQuickWindow& window, const QList<QUrl>& files)
{
    return drop(window, files, {window.width() / 2.0, window.height() / 2.0});
}

} // namespace

class TestPictureRefusals : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;
    std::unique_ptr<WindowDriver> m_driver; // one window for all rows: refusals leave nothing behind

    QUrl file(const QString& name, const std::string& bytes) const
    {
        QFile target(m_folder.filePath(name));
        if (!target.open(QIODevice::WriteOnly) || target.write(QByteArray::fromStdString(bytes)) < 0)
            qFatal("cannot write %s", qPrintable(name));
        return QUrl::fromLocalFile(target.fileName());
    }
    DraftPictures& pictures() { return *m_driver->app().chat()->pictures(); }
    QString nameOf(int row) { return pictures().data(pictures().index(row), DraftPictures::NameRole).toString(); }
    // The control with this text; null: none is on screen.
    QQuickItem* labelled(const QString& text) const
    {
        for (QQuickItem* item : visibleItems(*m_driver->window().contentItem())) {
            if (item->inherits("QQuickAbstractButton") && item->property("text").toString() == text)
                return item;
        }
        return nullptr;
    }

private Q_SLOTS:
    void initTestCase()
    {
        m_driver = std::make_unique<WindowDriver>();
        QVERIFY(m_driver->waitUntilReady());
        QVERIFY(drop(m_driver->window(), {file("kept.png", pngOf(drawing()))}));
        QTRY_COMPARE(pictures().count(), 1);
        m_driver->item("composerText")->forceActiveFocus();
        m_driver->type("What shape");
    }
    void cleanupTestCase() { m_driver.reset(); }

    void whatCannotBeSeenIsRefusedWithItsName_data()
    {
        QTest::addColumn<QUrl>("url");
        QTest::addColumn<QString>("reason");
        const std::string png = pngOf(drawing());
        const QString folder = m_folder.filePath("folder.png");
        QDir().mkpath(folder);
        QTest::newRow("folder") << QUrl::fromLocalFile(folder) << "folder";
        QTest::newRow("empty") << file("empty.png", "") << "";
        QTest::newRow("cut in the header") << file("header.png", png.substr(0, 20)) << "";
        QTest::newRow("cut in the middle") << file("middle.png", png.substr(0, png.size() / 2)) << "damaged";
        QTest::newRow("words") << file("words.jpg", "these are words") << "";
        QTest::newRow("vector drawing") << file("drawing.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>") << "";
        QTest::newRow("gone") << QUrl::fromLocalFile(m_folder.filePath("gone.png")) << "";
#if defined(Q_OS_UNIX)
        const QString pipe = m_folder.filePath("pipe.png");
        QCOMPARE(mkfifo(pipe.toLocal8Bit().constData(), 0600), 0);
        QTest::newRow("pipe") << QUrl::fromLocalFile(pipe) << "";
        const QUrl large = file("large.png", png);
        QFile::resize(large.toLocalFile(), qint64{300} << 20); // holes: it takes no space
        QTest::newRow("300 MB") << large << "bytes";
        if (geteuid() != 0) { // nothing is unreadable to root
            const QUrl closed = file("closed.png", png);
            QFile::setPermissions(closed.toLocalFile(), {});
            QTest::newRow("unreadable") << closed << "";
        }
#endif
    }
    void whatCannotBeSeenIsRefusedWithItsName()
    {
        QFETCH(const QUrl, url);
        QFETCH(const QString, reason);
        QVERIFY(drop(m_driver->window(), {url}));
        QTRY_VERIFY2(pictures().error().contains(url.fileName()), qPrintable(pictures().error()));
        QVERIFY2(pictures().error().contains(reason), qPrintable(pictures().error()));
        QVERIFY2(pictures().error().size() > url.fileName().size() + 10, qPrintable(pictures().error()));
        QCOMPARE(pictures().count(), 1);
        QCOMPARE(m_driver->app().chat()->draft(), QString("What shape"));
        QVERIFY(m_driver->app().chat()->canSend());
    }

    // The content decides, whatever the name says; and one bad file keeps no good one away.
    void aWrongSuffixIsNoReason()
    {
        QVERIFY(drop(m_driver->window(),
            {file("notes.txt", bmpOf(drawing())), file("bad.png", "x"), file("really a TGA.png", tgaOf(drawing()))}));
        QTRY_COMPARE(pictures().count(), 3);
        QVERIFY2(pictures().error().contains("bad.png"), qPrintable(pictures().error()));
        pictures().remove(2);
        pictures().remove(1);
    }

    // What it gives back takes the same way as what is dropped.
    void theFileDialogOffersEveryFormat()
    {
        auto* dialog = m_driver->window().findChild<QObject*>("pictureDialog");
        QVERIFY(dialog != nullptr);
        QCOMPARE(dialog->property("nameFilters").toStringList().first(),
            QString("Pictures (*.png *.jpg *.jpeg *.gif *.bmp *.tga *.psd)"));
        QVERIFY(QMetaObject::invokeMethod(dialog, "open"));
        QVERIFY(dialog->property("visible").toBool());
        QVERIFY(QMetaObject::invokeMethod(dialog, "close"));
        QCOMPARE(pictures().count(), 1);
    }

    // By mouse, in the dialog that Qt draws where the platform has none of its own.
    void whatTheFileDialogGivesBackIsAttached()
    {
        auto* dialog = m_driver->window().findChild<QObject*>("pictureDialog");
        QDir(m_folder.path()).mkpath("chosen");
        const QUrl chosen = file("chosen/from the dialog.png", pngOf(drawing()));
        QVERIFY(dialog->setProperty("currentFolder", QUrl::fromLocalFile(m_folder.filePath("chosen"))));
        m_driver->click(*m_driver->item("attachButton"));
        QTRY_VERIFY(m_driver->item("fileDialogDelegate0") != nullptr);
        QTest::qWait(50); // what is new on screen gets its place with the next frame
        m_driver->click(*m_driver->item("fileDialogDelegate0"));
        QQuickItem* open = labelled("Open");
        QVERIFY(open != nullptr);
        QTRY_VERIFY(open->isEnabled());
        m_driver->click(*open);
        QTRY_COMPARE(pictures().count(), 2);
        QCOMPARE(nameOf(1), QString("from the dialog.png"));
        QVERIFY(!dialog->property("visible").toBool());
        pictures().remove(1);
    }

    void theFileDialogAttachesNothingWhenItIsCancelled()
    {
        m_driver->click(*m_driver->item("attachButton"));
        QTRY_VERIFY(labelled("Cancel") != nullptr);
        QTest::qWait(50);
        m_driver->click(*labelled("Cancel"));
        QTRY_VERIFY(labelled("Cancel") == nullptr);
        QCOMPARE(pictures().count(), 1);
    }

    void aPictureMayBeDroppedOnAnyPage()
    {
        m_driver->key(Qt::Key_Comma, Qt::ControlModifier);
        QTRY_VERIFY(m_driver->item("settingsPage") != nullptr);
        QVERIFY(drop(m_driver->window(), {file("on the settings.png", pngOf(drawing()))}));
        QTRY_COMPARE(pictures().count(), 2);
        QVERIFY(m_driver->item("chatPage") != nullptr);
        pictures().remove(1);
        QVERIFY(drop(m_driver->window(), {file("on the rail.png", pngOf(drawing()))}, {8, 8}));
        QTRY_COMPARE(pictures().count(), 2);
        pictures().remove(1);
    }

    // What a file manager copies.
    void filesOnTheClipboardArePasted()
    {
        auto* content = new QMimeData;
        content->setUrls({file("first.png", pngOf(drawing())), file("second.gif", gifOf(drawing()))});
        QGuiApplication::clipboard()->setMimeData(content);
        m_driver->item("composerText")->forceActiveFocus();
        m_driver->key(Qt::Key_V, Qt::ControlModifier);
        QTRY_COMPARE(pictures().count(), 3);
        QCOMPARE(nameOf(1), QString("first.png"));
        QCOMPARE(nameOf(2), QString("second.gif"));
        QCOMPARE(m_driver->app().chat()->draft(), QString("What shape"));
        pictures().remove(2);
        pictures().remove(1);
    }

    // Noise, which PNG cannot make smaller: more than the 20 MiB that a picture's file may have.
    void aPastedPictureThatIsTooLargeIsRefused()
    {
        QImage noise(3000, 2600, QImage::Format_RGB888);
        QRandomGenerator generator(1);
        for (int y = 0; y < noise.height(); ++y)
            generator.fillRange(reinterpret_cast<quint32*>(noise.scanLine(y)), noise.bytesPerLine() / 4);
        QGuiApplication::clipboard()->setImage(noise);
        QVERIFY(pictures().addFromClipboard());
        QTRY_VERIFY_WITH_TIMEOUT(pictures().error().contains("3000 × 2600 pixels; scale it down"), 60'000);
        QCOMPARE(pictures().count(), 1);
    }

    void everyFormatHasItsThumbnail()
    {
        const std::pair<const char*, std::string> files[] = {{"a.png", pngOf(drawing())}, {"a.bmp", bmpOf(drawing())},
            {"a.gif", gifOf(drawing())}, {"a.tga", tgaOf(drawing())}, {"a.psd", psdOf(drawing(), Compression::Runs)}};
        waste::host::PictureViewer viewer(64 << 20);
        for (const auto& [name, bytes] : files) {
            pictures().addFiles({file(name, bytes)});
            QTRY_COMPARE(pictures().count(), 2);
            const QString source = pictures().data(pictures().index(1), DraftPictures::SourceRole).toString();
            AttachmentImages images(m_driver->dataFolder(), viewer);
            QSize size;
            const QImage image = images.requestImage(source.mid(QString("image://attachment/").size()), &size, {});
            QCOMPARE(size, QSize(120, 90));
            const QColor middle = image.pixelColor(60, 45);
            QVERIFY2(middle.red() > 150 && middle.green() < 80, name);
            QVERIFY2(image.pixelColor(3, 3).green() > 200, name);
            pictures().remove(1);
        }
    }

    void theFirstPriceIsSaidBeforeAnythingWasSeen()
    {
        const QString price = pictures().data(pictures().index(0), DraftPictures::PriceRole).toString();
        QCOMPARE(price, QString("adds less than 1 s (estimate)"));
    }

    // Between choosing and sending: the window keeps its own copy, so the file itself may go.
    void aFileThatIsDeletedAfterwardsIsSentAllTheSame()
    {
        QVERIFY(QFile::remove(m_folder.filePath("kept.png")));
        m_driver->app().chat()->setDraft("");
        QVERIFY(m_driver->ask("What shape do you see?"));
        const auto& model = *m_driver->app().chat()->messages();
        const QString answer =
            model.data(model.index(model.rowCount() - 1), MessageListModel::PlainTextRole).toString();
        QVERIFY2(answer.contains("circle"), qPrintable(answer));
    }
};

QTEST_MAIN(TestPictureRefusals)
#include "tst_picture_refusals.moc"
