#include "platform/processes.h"

#if defined(_WIN32)
#include "platform/windows_api.h"
#else
#include <unistd.h>
#endif

namespace waste {

std::uint64_t currentProcessId()
{
#if defined(_WIN32)
    return GetCurrentProcessId();
#else
    return static_cast<std::uint64_t>(getpid());
#endif
}

} // namespace waste
