#include "benchmark_kernels.h"

#include "kernels/kernels.h"
#include "multiply_add_peak.h"

#include <string_view>

namespace waste::benchmark {

void measureKernels(Table& table, const MemoryBandwidth& memory)
{
    const auto selected = kernels::selectKernels();
    if (!selected) {
        table.note(selected.error().message);
        return;
    }
    if ((*selected)->name == std::string_view("scalar")) {
        table.note("kernels: this processor has neither AVX2 nor NEON, and nothing is known of its limits");
        return;
    }
    ThreadPool oneCore({.threadCount = 1});
    const double multiplyAdds = multiplyAddPeak(**selected, oneCore);
    table.add({"multiply-adds in registers, one core", multiplyAdds, "GMAC/s"});
    const KernelRun run{table, **selected, memory, multiplyAdds};
    measureTrunk(run);
    measureExperts(run);
    measureLayers(run);
}

} // namespace waste::benchmark
