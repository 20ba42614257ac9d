#pragma once

#include "cli/output.h"
#include "host/conversion_pace.h"

#include "waste/converter.h"

#include <chrono>
#include <string>

namespace waste::cli {

// Tells the converter's events: one JSON object a line (spec: cli B.7), or a few lines and a moving one on a terminal.
class ConversionReporter {
public:
    explicit ConversionReporter(Output& output)
        : m_output(output)
    {
    }
    void operator()(const ConvertEvent& event);

private:
    using Clock = std::chrono::steady_clock;

    void json(const ConvertPlan& plan);
    void text(const ConvertPlan& plan);
    void json(const ConvertLayerStart& start);
    void text(const ConvertLayerStart& start);
    void json(const Progress& progress);
    void text(const Progress& progress);
    void json(const ConvertWaiting& waiting);
    void text(const ConvertWaiting& waiting);
    void json(const ConvertReclaimed& reclaimed);
    void text(const ConvertReclaimed& reclaimed);
    void json(const ConvertLayerDone& done);
    void text(const ConvertLayerDone& done);
    void json(const ConvertReport& report);
    void text(const ConvertReport& report);

    bool progressIsDue(const Progress& progress);
    [[nodiscard]] std::string bar(const Progress& progress) const;
    [[nodiscard]] std::string workInHand(const Progress& progress) const;

    Output& m_output;
    host::ConversionPace m_pace;
    std::uint32_t m_layer = 0;
    std::uint64_t m_expertsPerLayer = 0;
    Clock::time_point m_lastProgress;
};

} // namespace waste::cli
