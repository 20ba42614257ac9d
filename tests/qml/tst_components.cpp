// Runs the tst_*.qml beside this file, with the application behind them that the components ask for.

#include "desktop/app.h"
#include "desktop/window.h"

#include <QQmlEngine>
#include <QTemporaryDir>
#include <QtQuickTest>

#include <memory>

namespace {

class Setup : public QObject {
    Q_OBJECT

public Q_SLOTS:
    void applicationAvailable() { waste::app::loadFonts(); }
    // Each file of tests gets an engine, and the engine its application; none opens a model.
    void qmlEngineAvailable(QQmlEngine* engine)
    {
        waste::app::App::Options options;
        options.dataFolder = m_folder.path().toStdString() + "/data";
        options.configurationFolder = m_folder.path().toStdString() + "/configuration";
        auto* app = new waste::app::App(options, engine);
        app->provideTo(*engine);
        engine->addImportPath("qrc:/qt/qml");
    }

private:
    QTemporaryDir m_folder;
};

} // namespace

QUICK_TEST_MAIN_WITH_SETUP(components, Setup)
#include "tst_components.moc"
