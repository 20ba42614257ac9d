#include "desktop/display.h"

#include <QString>
#include <QtGlobal>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace waste::app {

namespace {

constexpr int kFailed = 1;

void explain(QtMsgType type, const QMessageLogContext&, const QString&)
{
    if (type != QtFatalMsg)
        return; // lists of plug-ins, which help nobody here
    const char* platform = std::getenv("QT_QPA_PLATFORM");
    std::fprintf(stderr, "waste-desktop: the window cannot open: ");
    if (platform != nullptr && *platform != '\0')
        std::fprintf(stderr, "QT_QPA_PLATFORM is \"%s\", which does not work here.\n", platform);
    else if (qEnvironmentVariableIsEmpty("DISPLAY") && qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY"))
        std::fprintf(stderr, "there is no display (DISPLAY and WAYLAND_DISPLAY are not set).\n");
    else
        std::fprintf(stderr, "the display cannot be reached.\n");
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
