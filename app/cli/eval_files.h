#pragma once

#include "waste/result.h"
#include "waste/session.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

namespace waste::cli {

// A file that `eval` writes for other programs to read. Errors (Io, NoSpace) name it.
class EvalFile {
public:
    static Result<EvalFile> create(const std::filesystem::path& path);

    void writeLogits(std::span<const float> logits); // raw little-endian f32
    void writeLayer(const LayerTrace& trace); // one JSON line
    Status finish(); // says whether everything arrived

private:
    EvalFile(std::filesystem::path path, std::ofstream stream);

    std::filesystem::path m_path;
    std::ofstream m_stream;
    int m_errno = 0; // of the first write that failed
};

} // namespace waste::cli
