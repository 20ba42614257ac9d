#include "experts/usage_list.h"

#include "base/little_endian.h"
#include "platform/atomic_file.h"
#include "platform/path_text.h"
#include "platform/small_file.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>

namespace waste {
namespace {

constexpr std::uint32_t kMagic = 0x47535557; // "WUSG"
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeaderBytes = 16; // magic, version, clock
constexpr std::size_t kEntryBytes = 16; // u16 layer, u16 expert, u32 uses, u32 lastUse, u32 zero
// A list names each expert once. One that says everything four times over is no list of this model.
constexpr std::uint64_t kRepetitionsMax = 4;

std::uint64_t recordCount(const RecordStore::Grid& grid)
{
    return std::uint64_t{grid.layerCount} * grid.expertCount;
}

bool isThere(const RecordStore::Grid& grid, ExpertKey key)
{
    return key.layer >= grid.firstLayer && key.layer - grid.firstLayer < grid.layerCount
        && key.expert < grid.expertCount;
}

std::tuple<std::uint16_t, std::uint16_t> placeOf(const UsageList::Entry& entry)
{
    return {entry.key.layer, entry.key.expert};
}

} // namespace

Result<UsageList> UsageList::parse(std::span<const std::byte> bytes, const RecordStore::Grid& grid)
{
    if (bytes.size() < kHeaderBytes || loadLittle<std::uint32_t>(bytes, 0) != kMagic)
        return Error{ErrorCode::Corrupt, "usage", "this is no list of used experts"};
    UsageList list;
    list.clock = loadLittle<std::uint64_t>(bytes, 8);
    list.entries.resize(static_cast<std::size_t>(recordCount(grid))); // by record, until all are known
    for (std::size_t offset = kHeaderBytes; bytes.size() - offset >= kEntryBytes; offset += kEntryBytes) {
        Entry entry;
        entry.key.layer = loadLittle<std::uint16_t>(bytes, offset);
        entry.key.expert = loadLittle<std::uint16_t>(bytes, offset + 2);
        entry.uses = loadLittle<std::uint32_t>(bytes, offset + 4);
        entry.lastUse = loadLittle<std::uint32_t>(bytes, offset + 8);
        if (!isThere(grid, entry.key))
            continue;
        const std::size_t layer = std::size_t{entry.key.layer} - grid.firstLayer;
        Entry& known = list.entries[layer * grid.expertCount + entry.key.expert];
        if (entry.uses > known.uses)
            known = entry;
    }
    std::erase_if(list.entries, [](const Entry& entry) { return entry.uses == 0; });
    std::sort(list.entries.begin(), list.entries.end(),
        [](const Entry& a, const Entry& b) { return std::tuple(b.uses, placeOf(a)) < std::tuple(a.uses, placeOf(b)); });
    return list;
}

std::vector<std::byte> UsageList::encode() const
{
    std::vector<std::byte> bytes(kHeaderBytes + entries.size() * kEntryBytes);
    storeLittle(bytes, 0, kMagic);
    storeLittle(bytes, 4, kVersion);
    storeLittle(bytes, 8, clock);
    std::size_t offset = kHeaderBytes;
    for (const Entry& entry : entries) {
        storeLittle(std::span(bytes), offset, entry.key.layer);
        storeLittle(std::span(bytes), offset + 2, entry.key.expert);
        storeLittle(std::span(bytes), offset + 4, entry.uses);
        storeLittle(std::span(bytes), offset + 8, entry.lastUse);
        offset += kEntryBytes;
    }
    return bytes;
}

Result<UsageList> UsageList::load(const std::filesystem::path& file, const RecordStore::Grid& grid)
{
    const std::uint64_t bytesMax = kHeaderBytes + kRepetitionsMax * recordCount(grid) * kEntryBytes;
    WASTE_TRY(const std::string content, readSmallFile(file, bytesMax));
    Result<UsageList> list = parse(std::as_bytes(std::span(content)), grid);
    if (!list)
        list.error().message = textFromPath(file) + ": " + list.error().message;
    return list;
}

Status UsageList::save(const std::filesystem::path& file) const
{
    const std::vector<std::byte> bytes = encode();
    return writeFileAtomically(file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

} // namespace waste
