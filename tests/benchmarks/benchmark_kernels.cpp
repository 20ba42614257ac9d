#include "benchmark_kernels.h"

#include "kernels/kernels.h"
#include "multiply_add_peak.h"

namespace waste::benchmark {

void measureKernels(Table& table, const MemoryBandwidth& memory)
{
    const auto selected = kernels::selectKernels();
    if (!selected) {
        table.note(selected.error().message);
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
