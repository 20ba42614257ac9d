#pragma once

// The system's header without its macros min and max, and without what nobody here calls.
#ifndef NOMINMAX // the compiler's library may have said so already
#define NOMINMAX
#endif
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
