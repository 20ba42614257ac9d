#pragma once

#include "waste/result.h"

#include <string>
#include <vector>

namespace waste {

// What this build of the engine computes with on this machine.
struct BuildInfo {
    std::string backend; // the kernel table in use: "scalar", "avx2", ...
    std::string checksum; // how CRC-32 is computed: "clmul" or "slice8"
    std::vector<std::string> cpuFeatures; // of those that matter here
    std::string unicodeVersion; // of the tokenizer's character classes
};

// Error: Unsupported if WASTE_ISA names a table that this CPU or build lacks.
Result<BuildInfo> describeBuild();

} // namespace waste
