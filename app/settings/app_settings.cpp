#include "settings/app_settings.h"

#include <QTimerEvent>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

namespace waste::app {

namespace {

using namespace std::string_view_literals;

constexpr int kSaveDelayMs = 500; // a slider would otherwise write at every step
constexpr double kZoomMin = 0.8;
constexpr double kZoomMax = 2.0;

// Names in the file, in the order of the enums.
constexpr std::array kThemes = {"auto"sv, "light"sv, "dark"sv, "high_contrast"sv};
constexpr std::array kEfforts = {"none"sv, "low"sv, "high"sv, "max"sv};

nlohmann::json jsonFrom(AppSettings::Theme theme)
{
    return kThemes.at(static_cast<std::size_t>(theme));
}

nlohmann::json jsonFrom(AppSettings::Effort effort)
{
    return kEfforts.at(static_cast<std::size_t>(effort));
}

template<typename Plain>
nlohmann::json jsonFrom(Plain value)
{
    return value;
}

// Leaves the member as it is if the file has nothing usable.
template<typename Enum>
void take(const nlohmann::json& json, const std::array<std::string_view, 4>& names, Enum& member)
{
    const auto* text = json.get_ptr<const std::string*>();
    const auto found = text == nullptr ? names.end() : std::find(names.begin(), names.end(), *text);
    if (found != names.end())
        member = static_cast<Enum>(found - names.begin());
}

void take(const nlohmann::json& json, bool& member)
{
    if (json.is_boolean())
        member = json.get<bool>();
}

} // namespace

AppSettings::AppSettings(const std::filesystem::path& configurationFolder, Background background, QObject* parent)
    : QObject(parent)
    , m_background(std::move(background))
{
    if (auto file = host::SettingsFile::open(configurationFolder)) {
        m_file = std::move(*file);
        read();
    } else {
        m_fileError = QString::fromStdString(file.error().message);
    }
}

void AppSettings::read()
{
    take(m_file->value("theme"), kThemes, m_theme);
    take(m_file->value("effort"), kEfforts, m_effort);
    take(m_file->value("reduced_motion"), m_reducedMotion);
    take(m_file->value("enter_sends"), m_enterSends);
    take(m_file->value("thinking"), m_thinking);
    take(m_file->value("thinking_open"), m_thinkingOpen);
    if (const auto zoom = m_file->value("zoom"); zoom.is_number())
        m_zoom = std::clamp(zoom.get<double>(), kZoomMin, kZoomMax);
}

template<typename Value>
void AppSettings::change(Value& member, Value value, const char* key, void (AppSettings::*signal)())
{
    if (member == value)
        return;
    member = value;
    if (m_file) {
        m_file->set(key, jsonFrom(value));
        m_saveLater.start(kSaveDelayMs, this);
    }
    Q_EMIT(this->*signal)();
}

void AppSettings::setTheme(Theme theme)
{
    change(m_theme, theme, "theme", &AppSettings::themeChanged);
}

AppSettings::Theme AppSettings::effectiveTheme() const
{
    if (m_theme != Theme::Auto)
        return m_theme;
    return m_systemIsDark ? Theme::Dark : Theme::Light;
}

void AppSettings::setSystemIsDark(bool dark)
{
    if (m_systemIsDark == dark)
        return;
    m_systemIsDark = dark;
    if (m_theme == Theme::Auto)
        Q_EMIT themeChanged();
}

void AppSettings::setZoom(double zoom)
{
    change(m_zoom, std::clamp(zoom, kZoomMin, kZoomMax), "zoom", &AppSettings::zoomChanged);
}

void AppSettings::zoomBy(int tenths)
{
    setZoom(std::round(10 * m_zoom + tenths) / 10);
}

void AppSettings::setReducedMotion(bool reduced)
{
    change(m_reducedMotion, reduced, "reduced_motion", &AppSettings::reducedMotionChanged);
}

void AppSettings::setEnterSends(bool sends)
{
    change(m_enterSends, sends, "enter_sends", &AppSettings::enterSendsChanged);
}

void AppSettings::setThinking(bool thinking)
{
    change(m_thinking, thinking, "thinking", &AppSettings::thinkingChanged);
}

void AppSettings::setEffort(Effort effort)
{
    change(m_effort, effort, "effort", &AppSettings::effortChanged);
}

std::string AppSettings::effortName() const
{
    return std::string(kEfforts.at(static_cast<std::size_t>(m_effort)));
}

void AppSettings::setThinkingOpen(bool open)
{
    change(m_thinkingOpen, open, "thinking_open", &AppSettings::thinkingOpenChanged);
}

void AppSettings::timerEvent(QTimerEvent* event)
{
    if (event->timerId() == m_saveLater.timerId())
        saveNow();
}

void AppSettings::saveNow()
{
    if (!m_saveLater.isActive())
        return;
    m_saveLater.stop();
    m_background([this, file = *m_file] {
        const Status saved = file.save();
        const QString error = saved ? QString() : QString::fromStdString(saved.error().message);
        const auto tell = [this, error] {
            if (std::exchange(m_fileError, error) != error)
                Q_EMIT fileErrorChanged();
        };
        QMetaObject::invokeMethod(this, tell, Qt::QueuedConnection);
    });
}

} // namespace waste::app
