#pragma once

#include "container/manifest.h"
#include "container/verification.h"
#include "platform/pages.h"
#include "waste/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace waste {

// The codebooks of all MoE layers as f32 tables, one [stages][256][vecDim] table per layer and matrix.
// Immutable after load(), any thread.
class Codebooks {
public:
    // Reads and checks every codebook that a layer refers to. `warnings` receives oddities that harm nothing.
    // Errors: Corrupt (missing_file, short_file, codebook, checksum), Io.
    static Result<Codebooks> load(const std::filesystem::path& directory, const Manifest& manifest,
        Verification verification, std::vector<std::string>& warnings);

    // What load() keeps in memory.
    static std::uint64_t residentBytes(const Manifest& manifest);

    // `bankIndex` counts Manifest::banks, `matrix` is 0 gate, 1 up, 2 down. 64-byte aligned.
    [[nodiscard]] const float* table(std::size_t bankIndex, std::size_t matrix) const;

private:
    Codebooks() = default;
    std::uint64_t m_tableFloats = 0; // stages · 256 · vecDim
    Pages m_pages; // f32 [banks][3][stages][256][vecDim]
};

} // namespace waste
