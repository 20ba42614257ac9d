#include "container/trunk_pass.h"

#include "base/checked.h"
#include "container/part_file.h"
#include "platform/pages.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

namespace waste {

namespace {

std::uint64_t endOf(const TrunkEntry& entry)
{
    return entry.layout.scaleBytes > 0 ? entry.scaleOffset + entry.layout.scaleBytes
                                       : entry.offset + entry.layout.payloadBytes;
}

// What of the `bytes` from `offset` on lies in the content, which begins at `begin`.
std::span<const std::byte> partOf(
    std::span<const std::byte> content, std::uint64_t begin, std::uint64_t offset, std::uint64_t bytes)
{
    const std::uint64_t from = std::max(offset, begin);
    const std::uint64_t to = std::min(offset + bytes, begin + content.size());
    return from < to ? content.subspan(from - begin, to - from) : std::span<const std::byte>();
}

} // namespace

TrunkOrder::TrunkOrder(const Manifest& manifest)
{
    for (const TrunkEntry& entry : manifest.trunk) {
        if (entry.format)
            entries.push_back(&entry);
    }
    std::ranges::sort(entries, {}, &TrunkEntry::offset);
    for (const TrunkEntry* entry : entries) {
        isSequential = isSequential && entry->offset >= endBytes;
        if (entry->layout.scaleBytes > 0) {
            const std::uint64_t payloadEnd = entry->offset + entry->layout.payloadBytes;
            isSequential =
                isSequential && entry->scaleOffset >= payloadEnd && entry->scaleOffset % sizeof(std::uint16_t) == 0;
        }
        endBytes = std::max(endBytes, endOf(*entry));
    }
}

TrunkPass::TrunkPass(
    const TrunkOrder& order, std::optional<FileDigester> digester, std::function<void(const Damage&)> tell)
    : m_order(order)
    , m_digester(std::move(digester))
    , m_tell(std::move(tell))
{
    assert(order.isSequential);
}

Status TrunkPass::run(
    const DirectFile& file, const std::function<Status(std::uint64_t bytes)>& advance, std::size_t blockBytes)
{
    WASTE_TRY(const Pages pages, Pages::allocate(blockBytes, "verification"));
    const std::uint64_t endBytes = std::max(file.sizeBytes(), m_order.endBytes);
    for (Block block; block.offset < endBytes; block.offset += block.bytes) {
        block.bytes = std::min<std::uint64_t>(blockBytes, endBytes - block.offset);
        WASTE_TRY_STATUS(advance(block.bytes));
        const auto target = pages.bytes().first(roundUp(block.bytes, std::uint64_t{kDirectIoAlignment}));
        if (const Status read = readPart(file, block.offset, target, block.bytes); read) {
            block.content = target.first(block.bytes);
        } else {
            block.content = {};
            tell({.file = std::string(kTrunkFile), .offset = block.offset, .error = read.error()});
        }
        if (m_digester)
            m_digester->update(block.content);
        checkTensors(block);
    }
    return {};
}

void TrunkPass::checkTensors(const Block& block)
{
    const std::uint64_t end = block.offset + block.bytes;
    for (; m_next < m_order.entries.size(); ++m_next) {
        const TrunkEntry& entry = *m_order.entries[m_next];
        if (entry.offset >= end)
            return;
        if (entry.offset >= block.offset)
            m_check.emplace(entry);
        if (block.content.empty())
            m_check.reset();
        if (m_check) {
            const TrunkLayout& layout = entry.layout;
            m_check->addPayload(partOf(block.content, block.offset, entry.offset, layout.payloadBytes));
            m_check->addScales(partOf(block.content, block.offset, entry.scaleOffset, layout.scaleBytes));
        }
        if (endOf(entry) > end)
            return;
        if (const Status status = m_check ? m_check->result() : Status(); !status)
            tell({.file = std::string(kTrunkFile),
                .tensor = entry.name,
                .offset = entry.offset,
                .error = status.error()});
    }
}

void TrunkPass::tell(const Damage& damage)
{
    m_digester.reset(); // the file differs, and where is better known now
    m_tell(damage);
}

} // namespace waste
