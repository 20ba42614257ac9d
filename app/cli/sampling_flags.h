#pragma once

#include "cli/arguments.h"

#include "waste/session.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace waste::cli {

// How tokens are chosen and when to end (spec: cli A.2, B.4): options of `run` and `chat`.
struct SamplingFlags {
    std::optional<double> temperature;
    std::optional<double> topP;
    std::optional<double> minP;
    std::optional<std::uint32_t> topK;
    std::optional<std::uint64_t> seed;
    std::optional<std::uint32_t> tokensMax;
    std::vector<std::string> stopStrings;

    // What was asked for, and for the rest `defaults`. With a temperature and without a seed it is random.
    [[nodiscard]] SamplingOptions over(const SamplingOptions& defaults) const;
};

void declareSamplingFlags(Arguments& arguments, SamplingFlags& flags, std::string defaultTokens);

// Stores one of temp, top-p, top-k, min-p, seed, n as the option of that name would. Error: InvalidArgument.
Status setSampling(SamplingFlags& flags, std::string_view name, std::string_view value);

} // namespace waste::cli
