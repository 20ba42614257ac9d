#include "desktop/display.h"

#include <QByteArray>
#include <QString>
#include <QtGlobal>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace waste::app {

namespace {

constexpr int kFailed = 1;

void explain(QtMsgType type, const QMessageLogContext& context, const QString& message)
{
    static thread_local QString said; // which plug-in is missing, or could not be loaded; a few lines at most
    if (qEnvironmentVariableIsSet("QT_DEBUG_PLUGINS"))
        std::fprintf(stderr, "%s\n", qPrintable(qFormatLogMessage(type, context, message)));
    if (type != QtFatalMsg) {
        if (type != QtDebugMsg)
            said += "  " + message + '\n';
        return;
    }
    const bool hasDisplay = !qEnvironmentVariableIsEmpty("DISPLAY") || !qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY");
    const QByteArray platform = qgetenv("QT_QPA_PLATFORM");
    std::fprintf(stderr, "waste-desktop: the window cannot open: ");
    if (!platform.isEmpty())
        std::fprintf(stderr, "QT_QPA_PLATFORM is \"%s\", which does not work here.\n", platform.constData());
    else if (hasDisplay)
        std::fprintf(stderr, "the display cannot be reached.\n");
    else
        std::fprintf(stderr, "there is no display (DISPLAY and WAYLAND_DISPLAY are not set).\n");
    if (hasDisplay && !said.isEmpty())
        std::fprintf(stderr, "Qt says:\n%s", qPrintable(said));
    std::fprintf(stderr,
        "In a terminal, `waste chat` does the same. `waste-desktop --first-run picture.png` with\n"
        "QT_QPA_PLATFORM=offscreen draws the window into a file.\n");
    std::_Exit(kFailed);
}

} // namespace

bool asksForTextOnly(std::span<char* const> arguments)
{
    constexpr std::string_view kAsking[] = {"-h", "--help", "--help-all", "-v", "--version"};
    return std::any_of(arguments.begin(), arguments.end(), [&](const char* argument) {
        return std::find(std::begin(kAsking), std::end(kAsking), argument) != std::end(kAsking);
    });
}

void explainMissingDisplay()
{
    qInstallMessageHandler(explain);
}

void displayIsThere()
{
    qInstallMessageHandler(nullptr);
}

} // namespace waste::app
