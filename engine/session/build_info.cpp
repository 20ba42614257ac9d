#include "waste/build_info.h"

#include "kernels/checksum.h"
#include "kernels/kernels.h"
#include "platform/cpu_features.h"

#include <unicode/uchar.h>

#include <utility>

namespace waste {

namespace {

std::vector<std::string> namesOf(const CpuFeatures& features)
{
    const std::pair<const char*, bool> all[] = {
        {"pclmul", features.pclmul},
        {"avx2", features.avx2},
        {"fma", features.fma},
        {"f16c", features.f16c},
        {"avxvnni", features.avxvnni},
        {"avx512f", features.avx512f},
        {"avx512bw", features.avx512bw},
        {"avx512vl", features.avx512vl},
        {"avx512dq", features.avx512dq},
        {"avx512vnni", features.avx512vnni},
        {"avx512vbmi", features.avx512vbmi},
        {"neon", features.neon},
        {"dotprod", features.dotprod},
        {"pmull", features.pmull},
    };
    std::vector<std::string> names;
    for (const auto& [name, present] : all) {
        if (present)
            names.emplace_back(name);
    }
    return names;
}

} // namespace

Result<BuildInfo> describeBuild()
{
    WASTE_TRY(const kernels::KernelTable* table, kernels::selectKernels());
    BuildInfo info;
    info.backend = table->name;
    info.checksum = kernels::crc32Method();
    info.cpuFeatures = namesOf(CpuFeatures::detect());
    info.unicodeVersion = U_UNICODE_VERSION;
    return info;
}

} // namespace waste
