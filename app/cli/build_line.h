#pragma once

#include "waste/result.h"

#include <string>
#include <string_view>

namespace waste::cli {

inline constexpr int kContainerFormat = 0; // the one that this program reads and writes

// What the program was built from; `commit` is empty where that is not known.
std::string_view programVersion();
std::string_view programCommit();
std::string_view programCompiler();

// "WASTE 0.1.0 (container v0, backend avx2, crc32 slice8, x86_64)". Error: Unsupported (WASTE_ISA).
Result<std::string> buildLine();

} // namespace waste::cli
