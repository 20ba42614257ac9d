#include "benchmark.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstring>

namespace waste::benchmark {

void Table::printText() const
{
    std::printf("%-44s %12s %-10s %12s %7s %7s\n", "", "measured", "", "limit", "share", "goal");
    for (const Line& line : m_lines) {
        std::printf("%-44s %12.3f %-10s", line.name.c_str(), line.value, line.unit.c_str());
        if (line.limit > 0)
            std::printf(" %12.3f %6.1f%%", line.limit, 100 * line.value / line.limit);
        if (line.goalRatio > 0)
            std::printf(" %6.0f%%", 100 * line.goalRatio);
        std::printf("\n");
    }
}

void Table::printJson() const
{
    for (const Line& line : m_lines) {
        nlohmann::ordered_json object{{"name", line.name}, {"value", line.value}, {"unit", line.unit},
            {"limit", nullptr}, {"ratio", nullptr}, {"goal_ratio", nullptr}};
        if (line.limit > 0) {
            object["limit"] = line.limit;
            object["ratio"] = line.value / line.limit;
        }
        if (line.goalRatio > 0)
            object["goal_ratio"] = line.goalRatio;
        std::printf("%s\n", object.dump().c_str());
    }
}

} // namespace waste::benchmark

int main(int argc, char** argv)
{
    using namespace waste::benchmark;
    const bool json = argc > 1 && std::strcmp(argv[1], "--json") == 0;
    Table table;
    const MemoryBandwidth memory = measureMemory(table);
    measureKernels(table, memory);
    measureModel(table);
    if (json)
        table.printJson();
    else
        table.printText();
    return 0;
}
