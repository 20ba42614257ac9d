// waste_benchmark: one table of figures, each beside what the machine allows, measured in the same run.

#include "benchmark_models.h"

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace {

using namespace waste::benchmark;

constexpr std::uint32_t kSlotsMax = 1U << 20;

// Hit rates in per cent, demand alone, at 1, 2, 4 and 8 tokens' worth of slots (spec: streaming 3.4).
const std::vector<RouteSlots> kKimiLinearSlots = {{201, 31}, {402, 45}, {805, 59.5}, {1610, 73.8}};

struct Options {
    Table::Form form = Table::Form::Text;
    BenchModels::Options models{.folder = "build/bench"};
    std::string only; // a section; empty: all
    std::filesystem::path routes; // to replay, and nothing else
    std::vector<RouteSlots> slots;
};

int usage()
{
    std::fputs("usage: waste_benchmark [--json] [--quick] [--folder DIR] [--vq4p] [--only SECTION]\n"
               "  --json          one object a line\n"
               "  --quick         small containers, a minute\n"
               "  --folder DIR    where the containers of random weights are made and kept (default build/bench)\n"
               "  --vq4p          experts of 4 x 64 codebook entries instead of 3 x 256\n"
               "  --routes FILE   replay only these, as `waste bench --record-routes` wrote them\n"
               "  --slots N,...   with caches of so many experts (default: those of 1, 2, 4 and 8 tokens)\n"
               "  --only SECTION  kernels, vision, conversion, quality, reduced, routes, opening, decode or context\n",
        stderr);
    return 2;
}

// Numbers with commas between them.
bool readSlots(std::string_view text, std::vector<RouteSlots>& slots)
{
    while (true) {
        RouteSlots room;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), room.count);
        if (error != std::errc() || room.count == 0 || room.count > kSlotsMax)
            return false;
        slots.push_back(room);
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        if (text.empty())
            return true;
        if (text.front() != ',')
            return false;
        text.remove_prefix(1);
    }
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
        else if (option == "--routes" && hasValue)
            options.routes = argv[++i];
        else if (!hasValue || option != "--slots" || !readSlots(argv[++i], options.slots))
            return false;
    }
    return options.slots.empty() || !options.routes.empty();
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
    if (!options.routes.empty()) {
        measureRoutes(table, options.routes, options.slots);
        return 0;
    }
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
        measureRoutes(table, WASTE_FIXTURES "/routes/kimi_linear_300.jsonl", kKimiLinearSlots);
    if (wanted("opening"))
        measureOpening(table, models);
    if (wanted("decode"))
        measureDecode(table, models);
    if (wanted("context"))
        measureLongContext(table, memory, models);
    return 0;
}
