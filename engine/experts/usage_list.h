#pragma once

#include "experts/expert_source.h"
#include "experts/record_store.h"
#include "waste/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace waste {

// How often experts were used, kept from one run to the next in usage.waste (spec: container 11, streaming 8).
struct UsageList {
    struct Entry {
        ExpertKey key;
        std::uint32_t uses = 0;
        std::uint32_t lastUse = 0; // low half of the access clock
        friend bool operator==(const Entry&, const Entry&) = default;
    };
    std::uint64_t clock = 0; // accesses in all
    std::vector<Entry> entries;

    // What of these bytes names experts that there are: each once, by its largest number of uses, the most used first.
    // Never takes memory for more than that, whatever the bytes are. Error: Corrupt for what is no such list.
    static Result<UsageList> parse(std::span<const std::byte> bytes, const RecordStore::Grid& grid);
    [[nodiscard]] std::vector<std::byte> encode() const; // in the order of the entries

    // Errors: as parse(), Corrupt for a file several times as long as a list of all experts, NotFound, Io.
    static Result<UsageList> load(const std::filesystem::path& file, const RecordStore::Grid& grid);
    // All at once or not at all. Errors: Io, NoSpace.
    [[nodiscard]] Status save(const std::filesystem::path& file) const;
};

} // namespace waste
