#if defined(__x86_64__)

#include "kernels/x86_avx512.h"

// What is not written for AVX-512 is done by AVX2.

namespace waste::kernels {

const KernelTable& avx512Table()
{
    static const KernelTable table = [] {
        KernelTable kernels = avx2Table();
        kernels.name = "avx512";
        kernels.dot = avx512::dot;
        kernels.addScaled = avx512::addScaled;
        kernels.multiplyRows = avx512::multiplyRows;
        kernels.unpackRow = avx512::unpackRow;
        kernels.multiplyTokens = avx512::multiplyTokens;
        kernels.addProduct = avx512::addProduct;
        kernels.multiplyPanel = avx512::multiplyPanel;
        kernels.kdaStep = avx512::kdaStep;
        kernels.expAndSum = avx512::expAndSum;
        kernels.expOfDifference = avx512::expOfDifference;
        kernels.situ = avx512::situ;
        kernels.multiplyPlanes = avx512::multiplyPlanes;
        kernels.addWordProduct = avx512::addWordProduct;
        kernels.nearestEntries = avx512::nearestEntries;
        kernels.searchCodes = avx512::searchCodes;
        return kernels;
    }();
    return table;
}

} // namespace waste::kernels
#endif
