// Pictures in the window, from the file to the answer: K3-mini looks at shapes that are drawn here.

#include "chat/attachment_images.h"
#include "window_driver.h"

#include <QClipboard>
#include <QDir>
#include <QGuiApplication>
#include <QImage>
#include <QPainter>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QTest>

using namespace waste::app;
using waste::test::WindowDriver;

namespace {

QImage drawing(const QString& shape, const QColor& colour, QSize size)
{
    QImage image(size, QImage::Format_RGB32);
    image.fill(Qt::white);
    QPainter painter(&image);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(colour);
    const QPoint middle = image.rect().center();
    const int radius = qMin(size.width(), size.height()) * 2 / 5;
    const QRect box(middle - QPoint(radius, radius), QSize(2 * radius, 2 * radius));
    if (shape == "circle")
        painter.drawEllipse(box);
    else if (shape == "square")
        painter.drawRect(box);
    else
        painter.drawPolygon(QPolygon{{box.bottomLeft(), box.bottomRight(), QPoint(middle.x(), box.top())}});
    return image;
}

QString answerOf(App& app)
{
    const auto& model = *app.chat()->messages();
    return model.data(model.index(model.rowCount() - 1), MessageListModel::PlainTextRole).toString();
}

QString sentDetailsOf(App& app)
{
    const auto& model = *app.chat()->messages();
    const QVariantList sent = model.data(model.index(0), MessageListModel::PicturesRole).toList();
    return sent.isEmpty() ? QString() : sent.front().value<SentPicture>().details;
}

QString detailsOf(DraftPictures& pictures, int row)
{
    return pictures.data(pictures.index(row), DraftPictures::DetailsRole).toString();
}

} // namespace

class TestPictures : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

    QUrl file(const QString& name, const QImage& image) const
    {
        const QString path = m_folder.filePath(name);
        if (!image.save(path))
            qFatal("cannot write %s", qPrintable(path));
        return QUrl::fromLocalFile(path);
    }
    QUrl file(const QString& name, const QByteArray& bytes) const
    {
        QFile target(m_folder.filePath(name));
        if (!target.open(QIODevice::WriteOnly) || target.write(bytes) != bytes.size())
            qFatal("cannot write %s", qPrintable(name));
        return QUrl::fromLocalFile(target.fileName());
    }
    // What is new on screen gets its place with the next frame.
    static void clickWhenInPlace(WindowDriver& driver, const char* name)
    {
        QTRY_VERIFY(driver.item(name) != nullptr);
        QTest::qWait(50);
        driver.click(*driver.item(name));
    }
    // False: it was not taken.
    static bool attach(App& app, const QUrl& file)
    {
        DraftPictures& pictures = *app.chat()->pictures();
        const int before = pictures.count();
        pictures.addFiles({file});
        return QTest::qWaitFor([&] { return pictures.count() > before || !pictures.error().isEmpty(); })
            && pictures.count() > before;
    }

private Q_SLOTS:
    void aDrawingIsRecognised_data()
    {
        QTest::addColumn<QString>("shape");
        QTest::addColumn<QColor>("colour");
        QTest::addColumn<QSize>("size");
        QTest::addColumn<QString>("type");
        QTest::newRow("circle") << "circle" << QColor(220, 30, 30) << QSize(112, 112) << "png";
        QTest::newRow("square") << "square" << QColor(30, 60, 220) << QSize(200, 150) << "bmp";
        QTest::newRow("triangle") << "triangle" << QColor(20, 150, 40) << QSize(320, 320) << "jpg";
    }
    void aDrawingIsRecognised()
    {
        QFETCH(const QString, shape);
        QFETCH(const QColor, colour);
        QFETCH(const QSize, size);
        QFETCH(const QString, type);
        WindowDriver driver;
        QVERIFY(driver.waitUntilReady());
        QVERIFY(attach(driver.app(), file(shape + '.' + type, drawing(shape, colour, size))));
        QVERIFY(driver.ask("What shape do you see?"));
        QVERIFY2(answerOf(driver.app()).contains(shape), qPrintable(answerOf(driver.app())));
        QCOMPARE(driver.app().chat()->pictures()->count(), 0);
    }

    // Both take the same positions: only their content tells them apart.
    void anotherPictureOfTheSameSizeIsSeenAsAnother()
    {
        WindowDriver driver;
        QVERIFY(driver.waitUntilReady());
        QVERIFY(attach(driver.app(), file("red.png", drawing("circle", Qt::red, {112, 112}))));
        QVERIFY(driver.ask("What colour is the circle?"));
        QVERIFY2(answerOf(driver.app()).contains("red"), qPrintable(answerOf(driver.app())));
        driver.key(Qt::Key_N, Qt::ControlModifier);
        QTRY_VERIFY(driver.app().chat()->isEmpty());
        QVERIFY(attach(driver.app(), file("blue.png", drawing("circle", Qt::blue, {112, 112}))));
        QVERIFY(driver.ask("What colour is the circle?"));
        QVERIFY2(answerOf(driver.app()).contains("blue"), qPrintable(answerOf(driver.app())));
    }

    void theModelLooksOnlyWhereThereIsAPicture()
    {
        WindowDriver driver;
        QVERIFY(driver.waitUntilReady());
        bool looked = false;
        connect(driver.app().status(), &StatusModel::changed, this,
            [&] { looked = looked || driver.app().status()->label().startsWith("Looking at red.png"); });
        QVERIFY(driver.ask("What is the capital of Japan?"));
        QVERIFY(!looked);
        QVERIFY(attach(driver.app(), file("red.png", drawing("circle", Qt::red, {112, 112}))));
        QVERIFY(driver.ask("What shape do you see?")); // too fast here for the window to say that it looks
        QVERIFY2(answerOf(driver.app()).contains("circle"), qPrintable(answerOf(driver.app())));
        QTRY_COMPARE(driver.app().status()->state(), StatusModel::State::Ready);
    }

    void theVisionTowerIsReleasedByChoice()
    {
        WindowDriver driver;
        QVERIFY(driver.waitUntilReady());
        QVERIFY(driver.item("releaseVision") == nullptr); // not there before the first picture
        QVERIFY(attach(driver.app(), file("red.png", drawing("circle", Qt::red, {112, 112}))));
        QVERIFY(driver.ask("What shape do you see?"));
        QTRY_VERIFY(driver.item("releaseVision") != nullptr);
        const QString label = driver.item("releaseVision")->property("text").toString();
        QVERIFY2(QRegularExpression("^Free [0-9.]+ MB$").match(label).hasMatch(), qPrintable(label));
        driver.item("releaseVision")->forceActiveFocus(Qt::TabFocusReason);
        driver.key(Qt::Key_Space);
        QTRY_VERIFY(driver.item("releaseVision") == nullptr);
        QCOMPARE(driver.app().status()->visionSize(), QString());
        QVERIFY(driver.focused() != nullptr);
        driver.item("composerText")->forceActiveFocus();

        // The next picture reads it again.
        driver.key(Qt::Key_N, Qt::ControlModifier);
        QTRY_VERIFY(driver.app().chat()->isEmpty());
        QVERIFY(attach(driver.app(), file("blue.png", drawing("square", Qt::blue, {112, 112}))));
        QVERIFY(driver.ask("What shape do you see?"));
        QVERIFY2(answerOf(driver.app()).contains("square"), qPrintable(answerOf(driver.app())));
        QTRY_VERIFY(driver.item("releaseVision") != nullptr);
    }

    void halfAPictureTakesHalfThePositionsAtMost()
    {
        WindowDriver driver;
        QVERIFY(driver.waitUntilReady());
        QVERIFY(attach(driver.app(), file("large.png", drawing("circle", Qt::red, {640, 480}))));
        DraftPictures& pictures = *driver.app().chat()->pictures();
        QCOMPARE(detailsOf(pictures, 0), QString("640 × 480, 35 positions"));
        clickWhenInPlace(driver, "halfPicture");
        QCOMPARE(detailsOf(pictures, 0), QString("640 × 480, 12 positions"));
        QVERIFY(driver.ask("What shape do you see?"));
        QVERIFY2(answerOf(driver.app()).contains("circle"), qPrintable(answerOf(driver.app())));
        QCOMPARE(sentDetailsOf(driver.app()), QString("640 × 480, 12 positions"));
    }

    void aPictureOnTheClipboardIsPasted()
    {
        WindowDriver driver;
        QVERIFY(driver.waitUntilReady());
        QGuiApplication::clipboard()->setImage(drawing("square", Qt::red, {100, 100}));
        driver.key(Qt::Key_V, Qt::ControlModifier);
        QTRY_COMPARE(driver.app().chat()->pictures()->count(), 1);
        clickWhenInPlace(driver, "removePicture");
        QCOMPARE(driver.app().chat()->pictures()->count(), 0);
        QGuiApplication::clipboard()->setText("words");
        driver.item("composerText")->forceActiveFocus();
        driver.key(Qt::Key_V, Qt::ControlModifier);
        QCOMPARE(driver.app().chat()->draft(), QString("words"));
    }

    void whatIsNoPictureIsRefusedInPlainWords()
    {
        WindowDriver driver;
        QVERIFY(driver.waitUntilReady());
        DraftPictures& pictures = *driver.app().chat()->pictures();
        QVERIFY(!attach(driver.app(), file("notes.png", QByteArray("not a picture at all"))));
        QVERIFY2(pictures.error().contains("notes.png"), qPrintable(pictures.error()));
        QVERIFY(!attach(driver.app(), file("drawing.png", QByteArray("<svg xmlns='http://www.w3.org/2000/svg'/>"))));
        QVERIFY(!attach(driver.app(), QUrl("https://example.org/picture.png")));
        QVERIFY2(pictures.error().contains("nothing is fetched"), qPrintable(pictures.error()));
        QVERIFY(!attach(driver.app(), QUrl::fromLocalFile(m_folder.filePath("missing.png"))));
        QVERIFY(!attach(driver.app(), file("huge.png", QByteArray(21 << 20, 'x'))));
        QCOMPARE(pictures.count(), 0);
        QVERIFY(!driver.app().chat()->canSend());
    }

    void picturesStayWithTheirConversation()
    {
        QTemporaryDir folder;
        App::Options options;
        options.dataFolder = folder.path().toStdString() + "/data";
        options.configurationFolder = folder.path().toStdString() + "/configuration";
        options.model = WASTE_K3_MINI_CONTAINER;
        options.isBuiltInModel = true;
        QString conversation;
        {
            App app(options);
            QTRY_VERIFY(app.chat()->isModelReady());
            QVERIFY(attach(app, file("red.png", drawing("circle", Qt::red, {112, 112}))));
            QSignalSpy ended(app.chat(), &ChatController::answerEnded);
            app.chat()->ask("What shape do you see?");
            QVERIFY(ended.wait(60'000));
            conversation = app.chat()->conversationId();
            QCOMPARE(sentDetailsOf(app), QString("112 × 112, 16 positions"));
            QVERIFY(attach(app, file("blue.png", drawing("square", Qt::blue, {112, 112})))); // not sent
        }
        App app(options);
        QTRY_VERIFY(app.chat()->isModelReady());
        app.chat()->open(conversation);
        QTRY_COMPARE(app.chat()->conversationId(), conversation);
        QCOMPARE(app.chat()->pictures()->count(), 1);
        QCOMPARE(sentDetailsOf(app), QString("112 × 112, 16 positions"));
        const auto& model = *app.chat()->messages();
        const QVariantList sent = model.data(model.index(0), MessageListModel::PicturesRole).toList();
        QCOMPARE(sent.size(), 1);
        const QString source = sent.front().value<SentPicture>().source;
        waste::host::PictureViewer viewer(64 << 20);
        AttachmentImages images(options.dataFolder, viewer);
        const QString id = source.mid(QString("image://attachment/").size());
        QCOMPARE(images.requestImage(id, nullptr, {}).size(), QSize(112, 112));
        QVERIFY(images.requestImage("../" + id, nullptr, {}).isNull());
        QVERIFY(images.requestImage(id + "/../../journal.jsonl", nullptr, {}).isNull());
        QSignalSpy ended(app.chat(), &ChatController::answerEnded);
        app.chat()->tryAgain();
        QVERIFY(ended.wait(60'000));
        QVERIFY2(answerOf(app).contains("circle"), qPrintable(answerOf(app)));

        const QString kept = folder.path() + "/data/conversations/" + conversation + "/attachments";
        QVERIFY(QDir(kept).removeRecursively());
        app.chat()->tryAgain();
        QVERIFY(ended.wait(60'000));
        const auto error = model.data(model.index(model.rowCount() - 1), MessageListModel::ErrorTextRole).toString();
        QVERIFY2(error.contains("red.png"), qPrintable(error));
    }
};

QTEST_MAIN(TestPictures)
#include "tst_pictures.moc"
