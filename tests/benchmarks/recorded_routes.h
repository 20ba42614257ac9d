#pragma once

#include "experts/record_store.h"
#include "waste/result.h"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace waste::benchmark {

// Which experts a model chose, token by token, as `waste bench --record-routes` writes it: one JSON object a line.
struct RecordedRoutes {
    using Experts = std::vector<std::uint16_t>;

    std::vector<Experts> choices; // [tokens · layers], all of the same length
    RecordStore::Grid grid; // as many layers as a line has, and experts up to the highest one that was chosen

    // Errors: NotFound (there is no route), Corrupt naming the line that is another than the first.
    static Result<RecordedRoutes> load(const std::filesystem::path& file);

    [[nodiscard]] std::uint32_t expertsPerToken() const // of a layer
    {
        return static_cast<std::uint32_t>(choices.front().size());
    }
    [[nodiscard]] std::size_t tokenCount() const { return choices.size() / grid.layerCount; }
    [[nodiscard]] std::size_t accessCount() const { return choices.size() * expertsPerToken(); }

    // Of a cache that knows the future: whoever is needed last leaves (Belady).
    [[nodiscard]] std::size_t mostHits(std::size_t slotCount) const;
};

} // namespace waste::benchmark
