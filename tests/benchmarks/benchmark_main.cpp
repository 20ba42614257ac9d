// waste_benchmark: one table of figures, each beside what the machine allows, measured in the same run.

#include "benchmark_models.h"

#include <cstdio>
#include <string>
#include <string_view>

namespace {

using namespace waste::benchmark;

struct Options {
    Table::Form form = Table::Form::Text;
    BenchModels::Options models{.folder = "build/bench"};
    std::string only; // a section; empty: all
};

int usage()
{
    std::fputs("usage: waste_benchmark [--json] [--quick] [--folder DIR] [--vq4p] [--only SECTION]\n"
               "  --json          one object a line\n"
               "  --quick         small containers, a minute\n"
               "  --folder DIR    where the containers of random weights are made and kept (default build/bench)\n"
               "  --vq4p          experts of 4 x 64 codebook entries instead of 3 x 256\n"
               "  --only SECTION  kernels, vision, conversion, quality, reduced, routes, opening, decode or context\n",
        stderr);
    return 2;
}

bool readOptions(int argc, char** argv, Options& options)
{
    for (int i = 1; i < argc; ++i) {
        const std::string_view option = argv[i];
        const bool hasValue = i + 1 < argc;
        if (option == "--json")
            options.form = Table::Form::Json;
        else if (option == "--quick")
            options.models.size = BenchModels::Size::Quick;
        else if (option == "--vq4p")
            options.models.expertFormat = waste::ExpertFormat::Vq4p;
        else if (option == "--folder" && hasValue)
            options.models.folder = argv[++i];
        else if (option == "--only" && hasValue)
            options.only = argv[++i];
        else
            return false;
    }
    return true;
}

} // namespace

int main(int argc, char** argv)
{
    Options options;
    if (!readOptions(argc, argv, options))
        return usage();
    const auto wanted = [&options](
                            std::string_view section) { return options.only.empty() || options.only == section; };
    Table table(options.form);
    BenchModels models(options.models, table);
    const MemoryBandwidth memory = measureMemory(table);
    if (wanted("kernels"))
        measureKernels(table, memory);
    if (wanted("vision"))
        measureVision(table);
    if (wanted("conversion"))
        measureConversion(table, options.models.folder);
    if (wanted("quality"))
        measureQuality(table, options.models.folder);
    if (wanted("reduced"))
        measureReduced(table, options.models.folder);
    if (wanted("routes"))
        measureRoutes(table, WASTE_FIXTURES "/routes/kimi_linear_300.jsonl");
    if (wanted("opening"))
        measureOpening(table, models);
    if (wanted("decode"))
        measureDecode(table, models);
    if (wanted("context"))
        measureLongContext(table, memory, models);
    return 0;
}
