#pragma once

#include "layers/decoder.h"
#include "waste/session.h"

#include <functional>

namespace waste {

// Splits the report of a layer over a whole chunk into one trace a position. `sink` outlives the result;
// without a sink there is no tracer.
inline std::function<void(const LayerReport&)> layerTracer(const std::function<void(const LayerTrace&)>& sink)
{
    if (!sink)
        return {};
    return [&sink](const LayerReport& report) {
        for (std::size_t token = 0; token < report.norms.size(); ++token) {
            LayerTrace trace;
            trace.layer = report.layer;
            trace.position = report.firstPosition + token;
            trace.norm = report.norms[token];
            const std::size_t first = token * report.expertsPerToken;
            const auto experts = report.experts.subspan(first, report.expertsPerToken);
            const auto weights = report.weights.subspan(first, report.expertsPerToken);
            trace.experts.assign(experts.begin(), experts.end());
            trace.weights.assign(weights.begin(), weights.end());
            sink(trace);
        }
    };
}

} // namespace waste
