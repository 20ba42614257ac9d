#include "kernels/product_tables.h"

namespace waste::kernels {

TableShape tableShapeOf(const VqMatrixView& matrix)
{
    if (matrix.vecDim != kTableColumns || matrix.indexBlock != kTableRows)
        return {};
    if (matrix.indexBits == 6 && matrix.stages == kPackedTables.stages)
        return kPackedTables;
    return matrix.indexBits == 8 && matrix.stages == kWholeTables.stages ? kWholeTables : TableShape{};
}

std::size_t noTableBytes(const VqMatrixView&)
{
    return 0;
}

std::size_t packedTableBytes(const VqMatrixView& matrix)
{
    const TableShape shape = tableShapeOf(matrix);
    return shape.entries == kPackedTables.entries ? reducedTableBytes(shape) : 0;
}

std::size_t anyReducedTableBytes(const VqMatrixView& matrix)
{
    return reducedTableBytes(tableShapeOf(matrix));
}

std::size_t anyExactTableBytes(const VqMatrixView& matrix)
{
    return exactTableBytes(tableShapeOf(matrix));
}

} // namespace waste::kernels
