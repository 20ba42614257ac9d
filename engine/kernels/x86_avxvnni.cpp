#if defined(__x86_64__)

#include "kernels/x86_avx2.h"

// What gains nothing from VNNI is done by AVX2.

namespace waste::kernels {

const KernelTable& avxVnniTable()
{
    static const KernelTable table = [] {
        KernelTable kernels = avx2Table();
        kernels.name = "avxvnni";
        kernels.multiplyPlanes = avxvnni::multiplyPlanes;
        kernels.addWordProduct = avxvnni::addWordProduct;
        return kernels;
    }();
    return table;
}

} // namespace waste::kernels
#endif
