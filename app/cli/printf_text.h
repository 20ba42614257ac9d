#pragma once

#include <string>

namespace waste::cli {

// snprintf() into a string of the right length.
#if defined(__GNUC__)
[[gnu::format(printf, 1, 2)]]
#endif
std::string
printfText(const char* format, ...);

} // namespace waste::cli
