// A learned hot list against a small grid of experts: two bytes choose the grid, the rest is the file.

#include "experts/usage_list.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    using namespace waste;
    if (size < 2)
        return 0;
    const RecordStore::Grid grid{.firstLayer = 1,
        .layerCount = static_cast<std::uint16_t>(1 + data[0] % 8),
        .expertCount = 1U + data[1] % 32,
        .recordBytes = 4096};
    const auto list = UsageList::parse(std::as_bytes(std::span(data + 2, size - 2)), grid);
    if (!list)
        return 0;
    if (list->entries.capacity() > std::size_t{grid.layerCount} * grid.expertCount)
        std::abort(); // an expert is named twice, or was while the bytes were looked at
    for (const UsageList::Entry& entry : list->entries) {
        if (entry.key.layer < 1 || entry.key.layer > grid.layerCount || entry.key.expert >= grid.expertCount)
            std::abort();
    }
    const auto again = UsageList::parse(list->encode(), grid);
    if (!again || again->entries != list->entries || again->clock != list->clock)
        std::abort();
    return 0;
}
