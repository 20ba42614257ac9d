#if defined(__x86_64__)

#include "kernels/x86_avx512.h"

// What gains nothing from VBMI or VNNI is done by AVX-512.

namespace waste::kernels {

const KernelTable& avx512VbmiTable()
{
    static const KernelTable table = [] {
        KernelTable kernels = avx512Table();
        kernels.name = "avx512vbmi";
        kernels.multiplyPlanes = avx512vbmi::multiplyPlanes;
        kernels.exactTables = {anyExactTableBytes, avx512vbmi::buildExactTables, avx512vbmi::multiplyExactTables};
        kernels.reducedTables = {anyReducedTableBytes, avx512vbmi::buildTables, avx512vbmi::multiplyTables};
        kernels.unpackVqWords = avx512vbmi::unpackVqWords;
        kernels.addWordProduct = avx512vbmi::addWordProduct;
        return kernels;
    }();
    return table;
}

} // namespace waste::kernels
#endif
