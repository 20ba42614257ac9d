#include "container/trunk_digest.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace waste {

namespace {

constexpr std::size_t kBlockBytes = 64 << 10; // gaps are shorter than a page

} // namespace

TrunkDigest::Order TrunkDigest::orderOf(const Manifest& manifest)
{
    Order order;
    for (const TrunkEntry& entry : manifest.trunk) {
        if (entry.format)
            order.entries.push_back(&entry);
    }
    std::ranges::sort(order.entries, {}, &TrunkEntry::offset);
    std::uint64_t end = 0;
    for (const TrunkEntry* entry : order.entries) {
        order.isDisjoint = order.isDisjoint && entry->offset >= end;
        end = entry->offset + entry->layout.payloadBytes;
        if (entry->layout.scaleBytes > 0) {
            order.isDisjoint = order.isDisjoint && entry->scaleOffset >= end;
            end = entry->scaleOffset + entry->layout.scaleBytes;
        }
    }
    return order;
}

TrunkDigest::TrunkDigest(const Trunk& trunk, FileDigester digester)
    : m_trunk(trunk)
    , m_digester(std::move(digester))
    , m_block(kBlockBytes)
{
}

Status TrunkDigest::add(std::uint64_t offsetBytes, std::span<const std::byte> bytes)
{
    assert(offsetBytes >= m_doneBytes);
    WASTE_TRY_STATUS(readUpTo(offsetBytes));
    m_digester.update(bytes);
    m_doneBytes += bytes.size();
    return {};
}

Result<FileDigester> TrunkDigest::finish()
{
    WASTE_TRY_STATUS(readUpTo(m_trunk.sizeBytes()));
    return std::move(m_digester);
}

Status TrunkDigest::readUpTo(std::uint64_t offsetBytes)
{
    while (m_doneBytes < offsetBytes) {
        const auto part = std::span(m_block).first(std::min<std::uint64_t>(m_block.size(), offsetBytes - m_doneBytes));
        WASTE_TRY_STATUS(m_trunk.read(m_doneBytes, part));
        m_digester.update(part);
        m_doneBytes += part.size();
    }
    return {};
}

} // namespace waste
