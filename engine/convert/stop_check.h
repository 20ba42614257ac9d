#pragma once

#include <functional>

namespace waste {

// Whether work should end early; what it returns then is of no use, and who called it asks again. Once true, always
// true. Any thread may ask. Empty: never.
using StopCheck = std::function<bool()>;

inline bool isStopped(const StopCheck& stopped)
{
    return stopped && stopped();
}

} // namespace waste
