#include "kernels/product_tables.h"

namespace waste::kernels {

namespace {

bool isPacked(const VqMatrixView& matrix)
{
    return matrix.vecDim == kTableColumns && matrix.indexBlock == kTableRows && matrix.indexBits == 6
        && matrix.stages == kPackedTables.stages;
}

bool isWhole(const VqMatrixView& matrix)
{
    return matrix.vecDim == kTableColumns && matrix.indexBlock == kTableRows && matrix.indexBits == 8
        && matrix.stages == kWholeTables.stages;
}

} // namespace

std::size_t noTableBytes(const VqMatrixView&)
{
    return 0;
}

std::size_t packedTableBytes(const VqMatrixView& matrix)
{
    return isPacked(matrix) ? reducedTableBytes(kPackedTables) : 0;
}

std::size_t anyReducedTableBytes(const VqMatrixView& matrix)
{
    return isWhole(matrix) ? reducedTableBytes(kWholeTables) : packedTableBytes(matrix);
}

std::size_t anyExactTableBytes(const VqMatrixView& matrix)
{
    if (isWhole(matrix))
        return exactTableBytes(kWholeTables);
    return isPacked(matrix) ? exactTableBytes(kPackedTables) : 0;
}

} // namespace waste::kernels
