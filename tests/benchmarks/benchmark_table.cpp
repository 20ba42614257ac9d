#include "benchmark.h"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace waste::benchmark {

Table::Table(Form form)
    : m_form(form)
{
    if (m_form == Form::Text)
        std::printf("%-62s %11s %-8s %11s %8s %7s\n", "", "measured", "", "limit", "ratio", "goal");
}

void Table::add(const Line& line)
{
    if (m_form == Form::Json) {
        nlohmann::ordered_json object{{"name", line.name}, {"value", line.value}, {"unit", line.unit},
            {"limit", nullptr}, {"ratio", nullptr}, {"goal_ratio", nullptr}};
        if (line.limit > 0) {
            object["limit"] = line.limit;
            object["ratio"] = line.ratio();
        }
        if (line.goalRatio > 0)
            object["goal_ratio"] = line.goalRatio;
        if (line.goal > 0)
            object["goal"] = line.goal;
        std::printf("%s\n", object.dump().c_str());
    } else {
        std::printf("%-62s %11.3f %-8s", line.name.c_str(), line.value, line.unit.c_str());
        if (line.limit > 0)
            std::printf(" %11.3f %8.3f", line.limit, line.ratio());
        if (line.limit > 0 && line.goalRatio > 0)
            std::printf(" %7.2f%s", line.goalRatio, line.ratio() < line.goalRatio ? "  missed" : "");
        if (line.goal > 0)
            std::printf(" %11s %8s %7.2f%s", "", "", line.goal, line.isMissed() ? "  missed" : "");
        std::printf("\n");
    }
    std::fflush(stdout);
}

void Table::note(const std::string& text) const
{
    std::fprintf(stderr, "%s\n", text.c_str());
}

} // namespace waste::benchmark
