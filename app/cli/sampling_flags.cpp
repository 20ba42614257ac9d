#include "cli/sampling_flags.h"

#include "cli/nearest_name.h"

#include <array>
#include <random>

namespace waste::cli {

namespace {

constexpr double kTemperatureMax = 100;
constexpr std::uint32_t kTopKMax = 1 << 30;
constexpr std::uint32_t kTokensMax = 1 << 30;

std::uint64_t randomSeed()
{
    std::random_device device;
    const auto high = std::uint64_t{device()} << 32;
    const std::uint64_t seed = high | device();
    return seed == 0 ? 1 : seed; // 0 means the built-in constant
}

struct SamplingParser {
    std::string_view name; // of the option, without dashes
    ValueParser parse;
};

std::array<SamplingParser, 6> parsers(SamplingFlags& flags)
{
    return {SamplingParser{"temp", numberInto(flags.temperature, {.min = 0, .max = kTemperatureMax})},
        SamplingParser{"top-p", numberInto(flags.topP, {.min = 0, .max = 1, .minExcluded = true})},
        SamplingParser{"top-k", wholeNumberInto(flags.topK, 0, kTopKMax)},
        SamplingParser{"min-p", numberInto(flags.minP, {.min = 0, .max = 1})},
        SamplingParser{"seed", wholeNumberInto(flags.seed)},
        SamplingParser{"max-tokens", wholeNumberInto(flags.tokensMax, 1, kTokensMax)}};
}

} // namespace

SamplingOptions SamplingFlags::over(const SamplingOptions& defaults) const
{
    SamplingOptions sampling = defaults;
    sampling.temperature = temperature.value_or(defaults.temperature);
    sampling.topP = topP.value_or(defaults.topP);
    sampling.topK = topK.value_or(defaults.topK);
    sampling.minP = minP.value_or(defaults.minP);
    sampling.seed = seed ? *seed : sampling.temperature > 0 ? randomSeed() : 0;
    return sampling;
}

void declareSamplingFlags(Arguments& arguments, SamplingFlags& flags, std::string defaultTokens)
{
    const auto [temperature, topP, topK, minP, seed, tokensMax] = parsers(flags);
    arguments.group("Generation");
    arguments.value("--max-tokens", "N", tokensMax.parse, "tokens to generate")
        .alias("-n")
        .byDefault(std::move(defaultTokens));
    arguments.value("--temp", "F", temperature.parse, "temperature; 0 always takes the most probable token")
        .alias("--temperature");
    arguments.value("--top-p", "F", topP.parse, "only the most probable tokens that make up this share");
    arguments.value("--top-k", "N", topK.parse, "only the N most probable tokens; 0 is off");
    arguments.value("--min-p", "F", minP.parse, "only tokens this probable relative to the best");
    arguments.value("--seed", "N", seed.parse, "start of the random numbers");
    arguments.value("--stop", "TEXT", into(flags.stopStrings), "end where this text appears; may be repeated")
        .repeatable();
}

Status setSampling(SamplingFlags& flags, std::string_view name, std::string_view value)
{
    std::vector<std::string> names;
    for (const SamplingParser& parser : parsers(flags)) {
        if (parser.name == name || (parser.name == "max-tokens" && name == "n"))
            return parser.parse(value);
        names.emplace_back(parser.name);
    }
    return Error{ErrorCode::InvalidArgument, "",
        "there is no setting '" + std::string(name) + "'" + suggestion(name, names)
            + " (temp, top-p, top-k, min-p, seed, n)"};
}

} // namespace waste::cli
