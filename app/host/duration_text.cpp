#include "host/duration_text.h"

namespace waste::host {

std::string formatDuration(std::chrono::seconds time)
{
    using namespace std::chrono_literals;
    const auto count = [&time](std::chrono::seconds unit, const char* name) {
        return std::to_string(time / unit) + ' ' + name;
    };
    if (time < 2min)
        return count(1s, "s");
    if (time < 1h)
        return count(1min, "min");
    if (time < 24h)
        return count(1h, "h") + ' ' + std::to_string(time % 1h / 1min) + " min";
    return count(24h, "d") + ' ' + std::to_string(time % 24h / 1h) + " h";
}

} // namespace waste::host
