#include "benchmark.h"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace waste::benchmark {
namespace {

std::string rounded(double value)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.3f", value);
    return text;
}

} // namespace

Table::Table(Form form)
    : m_form(form)
{
    if (m_form == Form::Text)
        std::printf("%-62s %11s %-8s %13s %8s %7s\n", "", "measured", "", "limit, (else)", "ratio", "goal");
}

void Table::add(const Line& line)
{
    const std::optional<double> ratio = line.ratio();
    if (m_form == Form::Json) {
        nlohmann::ordered_json object{{"name", line.name}, {"value", line.value}, {"unit", line.unit},
            {"limit", nullptr}, {"ratio", nullptr}, {"goal_ratio", nullptr}};
        if (line.limit > 0)
            object["limit"] = line.limit;
        if (ratio)
            object["ratio"] = *ratio;
        if (ratio && line.goalRatio > 0)
            object["goal_ratio"] = line.goalRatio;
        if (line.limit <= 0 && line.reference > 0)
            object["reference"] = line.reference;
        std::printf("%s\n", object.dump().c_str());
    } else {
        std::printf("%-62s %11.3f %-8s", line.name.c_str(), line.value, line.unit.c_str());
        if (line.limit > 0)
            std::printf(" %12.3f  %8.3f", line.limit, *ratio);
        else if (ratio)
            std::printf(" %13s %8.3f", ("(" + rounded(line.reference) + ")").c_str(), *ratio);
        if (ratio && line.goalRatio > 0)
            std::printf(" %7.2f%s", line.goalRatio, *ratio < line.goalRatio ? "  missed" : "");
        std::printf("\n");
    }
    std::fflush(stdout);
}

void Table::note(const std::string& text) const
{
    std::fprintf(stderr, "%s\n", text.c_str());
}

} // namespace waste::benchmark
