#include "kernels/kernels.h"

#include "platform/cpu_features.h"

#include <cstdlib>
#include <string>
#include <string_view>

namespace waste::kernels {

namespace {

struct Candidate {
    const char* isa;
    const KernelTable& (*table)();
    bool runsHere;
};

// Fastest first.
std::vector<Candidate> candidates()
{
    [[maybe_unused]] const CpuFeatures cpu = CpuFeatures::detect();
#if defined(__x86_64__)
    const bool hasAvx2 = cpu.avx2 && cpu.fma && cpu.f16c;
    const bool hasAvx512 = hasAvx2 && cpu.avx512f && cpu.avx512bw && cpu.avx512vl && cpu.avx512dq;
#endif
    return
    {
#if defined(__x86_64__)
        {"avx512vbmi", avx512VbmiTable, hasAvx512 && cpu.avx512vbmi && cpu.avx512vnni},
            {"avx512", avx512Table, hasAvx512}, {"avxvnni", avxVnniTable, hasAvx2 && cpu.avxvnni},
            {"avx2", avx2Table, hasAvx2},
#elif defined(__aarch64__)
        {"neon-dotprod", neonDotprodTable, cpu.neon && cpu.dotprod}, {"neon", neonTable, cpu.neon},
#endif
            {"scalar", scalarTable, true},
    };
}

} // namespace

std::vector<const char*> instructionSets()
{
    std::vector<const char*> names;
    for (const Candidate& candidate : candidates())
        names.push_back(candidate.isa);
    return names;
}

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
