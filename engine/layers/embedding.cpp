#include "layers/embedding.h"

#include "kernels/kernel_table.h"

#include <cassert>

namespace waste {

Status ResidentEmbedding::read(TokenId id, std::span<float> row)
{
    const auto index = static_cast<std::uint32_t>(id);
    assert(id >= 0 && index < m_table.rows);
    assert(row.size() == m_table.columns);
    kernels::scalarTable().unpackRow(m_table, index, 0, m_table.columns, row.data());
    return {};
}

} // namespace waste
