#include "kernels/kernels.h"

#include "platform/cpu_features.h"

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

namespace waste::kernels {

namespace {

struct Candidate {
    std::string_view isa;
    const KernelTable& (*table)();
    bool runsHere;
};

// Fastest first.
std::array<Candidate, 2> candidates()
{
    const CpuFeatures cpu = CpuFeatures::detect();
#if defined(__x86_64__)
    const Candidate avx2 = {"avx2", avx2Table, cpu.avx2 && cpu.fma && cpu.f16c};
#else
    const Candidate avx2 = {"avx2", nullptr, false};
#endif
    return {avx2, Candidate{"scalar", scalarTable, true}};
}

} // namespace

Result<const KernelTable*> selectKernels()
{
    return selectKernels(std::getenv("WASTE_ISA"));
}

Result<const KernelTable*> selectKernels(const char* isa)
{
    const std::string_view wanted = isa != nullptr ? isa : "";
    std::string available;
    for (const Candidate& candidate : candidates()) {
        if (!candidate.runsHere)
            continue;
        if (wanted.empty() || wanted == candidate.isa)
            return &candidate.table();
        available += available.empty() ? "" : ", ";
        available += candidate.isa;
    }
    return Error{ErrorCode::Unsupported, "isa",
        "WASTE_ISA names the instruction set \"" + std::string(wanted)
            + "\", which this program does not have for this CPU; it can use " + available};
}

} // namespace waste::kernels
