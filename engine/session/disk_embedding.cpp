#include "session/disk_embedding.h"

#include <cassert>
#include <utility>

namespace waste {

Result<std::unique_ptr<DiskEmbedding>> DiskEmbedding::create(
    Trunk trunk, const TrunkEntry& entry, const kernels::KernelTable& kernels)
{
    WASTE_TRY(Pages buffer, Pages::allocate(Trunk::residentRowBytes(entry), "a row of the embedding table"));
    return std::unique_ptr<DiskEmbedding>(new DiskEmbedding(std::move(trunk), entry, kernels, std::move(buffer)));
}

DiskEmbedding::DiskEmbedding(Trunk trunk, const TrunkEntry& entry, const kernels::KernelTable& kernels, Pages buffer)
    : m_trunk(std::move(trunk))
    , m_entry(entry)
    , m_kernels(kernels)
    , m_buffer(std::move(buffer))
{
}

Status DiskEmbedding::read(TokenId id, std::span<float> row)
{
    assert(id >= 0 && static_cast<std::uint32_t>(id) < m_entry.layout.rows);
    assert(row.size() == m_entry.layout.columns);
    WASTE_TRY(
        const kernels::MatrixView stored, m_trunk.loadRow(m_entry, static_cast<std::uint32_t>(id), m_buffer.bytes()));
    m_kernels.unpackRow(stored, 0, 0, stored.columns, row.data());
    return {};
}

} // namespace waste
