#pragma once

#include "waste/result.h"
#include "waste/session.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace waste::cli {

// Collects the experts of decoded tokens as lines of JSON, {"tok":0,"layers":[[…],…]}: the layers with experts
// in their order, ids ascending (spec: streaming 3.4).
class RouteFile {
public:
    // Fails where write() would later, by then with minutes of measuring behind it: no such folder, a full disk. What
    // the file holds from before stays.
    static Status tryWriting(const std::filesystem::path& file);
    void add(const LayerTrace& trace); // layer by layer, token by token
    Status write(const std::filesystem::path& file);

private:
    void endToken();

    std::string m_lines;
    std::string m_layers; // of the token that is not complete yet
    std::uint64_t m_position = 0;
    std::uint64_t m_tokenCount = 0;
};

} // namespace waste::cli
