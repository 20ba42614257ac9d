#pragma once

#include "benchmark.h"
#include "support/wide_container/wide_container.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace waste::benchmark {

// The containers of random weights that the model benchmarks run on. Made when they are first wanted and kept:
// writing them takes longer than measuring.
class BenchModels {
public:
    enum class Size : std::uint8_t { Full, Quick };

    struct Options {
        std::filesystem::path folder;
        Size size = Size::Full;
        ExpertFormat expertFormat = ExpertFormat::Vq3r;
    };
    BenchModels(Options options, const Table& table);

    // Kimi-Linear (a) and K3 (b). Empty, after a note, where the disk has no room even for a small one.
    std::optional<std::filesystem::path> kimiLinear(); // some layers, for what needs all experts in memory
    std::optional<std::filesystem::path> wholeKimiLinear(); // left out of a quick run
    std::optional<std::filesystem::path> k3();

private:
    // The first of the models, largest first, that is there or fits.
    std::optional<std::filesystem::path> firstThatFits(
        const std::string& name, const std::vector<test::WideModel>& models);
    std::optional<std::filesystem::path> obtain(const std::string& name, test::WideModel model);

    const Options m_options;
    const Table& m_table;
};

} // namespace waste::benchmark
