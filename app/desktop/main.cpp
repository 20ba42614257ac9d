#include "desktop/app.h"
#include "desktop/display.h"
#include "desktop/first_run.h"
#include "desktop/no_network.h"
#include "desktop/self_test.h"
#include "desktop/window.h"
#include "host/paths.h"
#include "waste/files.h"

#include <QCommandLineParser>
#include <QGuiApplication>
#include <QIcon>
#include <QQmlApplicationEngine>
#include <QQuickStyle>
#include <QTemporaryDir>
#include <QtQml/qqmlextensionplugin.h>

#include <cstdio>
#include <memory>
#include <optional>

Q_IMPORT_QML_PLUGIN(Waste_AppPlugin)
Q_IMPORT_QML_PLUGIN(Waste_UiPlugin)

namespace {

using namespace waste;

constexpr const char* kFirstQuestion = "What is the capital of Japan?";

struct Arguments {
    std::optional<QString> model;
    std::optional<QString> picture; // --first-run
    QString question;
    bool selfTest = false;
};

Arguments parse(const QCoreApplication& application)
{
    QCommandLineParser parser;
    parser.setApplicationDescription("Runs frontier mixture-of-experts models from an NVMe drive.");
    parser.addHelpOption();
    parser.addVersionOption();
    const QCommandLineOption model("model", "Open this model instead of the built-in one.", "DIR");
    const QCommandLineOption selfTest("self-test", "Load every page of the window, then quit.");
    const QCommandLineOption firstRun(
        "first-run", "Ask one question through the window, save its picture to FILE, then quit.", "FILE");
    const QCommandLineOption ask("ask", "The question of --first-run.", "TEXT", kFirstQuestion);
    parser.addOptions({model, selfTest, firstRun, ask});
    parser.process(application);
    Arguments arguments;
    if (parser.isSet(model))
        arguments.model = parser.value(model);
    if (parser.isSet(firstRun))
        arguments.picture = parser.value(firstRun);
    arguments.question = parser.value(ask);
    arguments.selfTest = parser.isSet(selfTest);
    return arguments;
}

app::App::Options optionsFor(const Arguments& arguments, const QTemporaryDir* scratch)
{
    app::App::Options options;
    options.dataFolder = scratch != nullptr ? pathOfText(scratch->path().toStdString()) / "data" : host::dataFolder();
    options.configurationFolder =
        scratch != nullptr ? pathOfText(scratch->path().toStdString()) / "configuration" : host::configurationFolder();
    if (arguments.model) {
        options.model = pathOfText(arguments.model->toStdString());
    } else if (const auto builtIn =
                   host::builtInModel(pathOfText(QCoreApplication::applicationDirPath().toStdString()))) {
        options.model = *builtIn;
        options.isBuiltInModel = true;
    }
    return options;
}

} // namespace

int main(int argc, char** argv)
{
    QCoreApplication::setApplicationName("waste-desktop");
    QCoreApplication::setApplicationVersion(WASTE_VERSION);
    if (app::asksForTextOnly({argv, static_cast<std::size_t>(argc)})) {
        const QCoreApplication application(argc, argv);
        parse(application); // prints and leaves
    }
    QQuickStyle::setStyle("Fusion");
    app::explainMissingDisplay();
    const QGuiApplication application(argc, argv);
    app::displayIsThere();
    QGuiApplication::setApplicationDisplayName("WASTE Desktop");
    QGuiApplication::setDesktopFileName("waste-desktop");
    QGuiApplication::setWindowIcon(QIcon(":/icons/app-icon.svg"));
    const Arguments arguments = parse(application);
    app::loadFonts();

    // A trial leaves nothing among the person's own conversations and settings.
    const bool isTrial = arguments.selfTest || arguments.picture;
    std::unique_ptr<QTemporaryDir> scratch = isTrial ? std::make_unique<QTemporaryDir>() : nullptr;
    const app::App::Options options = optionsFor(arguments, scratch.get());
    if (options.dataFolder.empty()) {
        std::fprintf(stderr, "waste-desktop: this user has no home folder; set HOME or XDG_DATA_HOME\n");
        return 1;
    }
    app::App app(options);
    app::NoNetwork noNetwork;
    QQmlApplicationEngine engine;
    engine.setNetworkAccessManagerFactory(&noNetwork);
    engine.addImportPath("qrc:/qt/qml"); // by itself only from Qt 6.5 on
    app.provideTo(engine);
    if (arguments.selfTest)
        return app::runSelfTest(engine);
    QQuickWindow* window = app::loadWindow(engine);
    if (window == nullptr)
        return 1;
    std::optional<app::FirstRun> firstRun;
    if (arguments.picture)
        firstRun.emplace(app, *window, arguments.question, *arguments.picture);
    return QGuiApplication::exec();
}
