// What the reduced kernels change beside what the conversion changes: the divergence of the next-token distribution
// that each adds, on conversions of the built-in model. The reduced ones may be the default below one hundredth.

#include "bench_engine.h"
#include "benchmark.h"
#include "distributions.h"

#include "waste/converter.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <span>
#include <string>
#include <vector>

namespace waste::benchmark {
namespace {

constexpr std::uint64_t kCacheBytes = 64U << 20; // all experts
constexpr std::uint32_t kTokens = 2048;
constexpr double kShareMax = 0.01;

// The evaluation set's questions and answers, one behind the other.
Result<std::vector<TokenId>> readText(const std::string& fileName)
{
    const auto root = nlohmann::json::parse(std::ifstream(fileName), nullptr, false);
    if (!root.is_object())
        return Error{ErrorCode::NotFound, "", "reduced: " + fileName + " is not there"};
    std::vector<TokenId> text;
    for (const nlohmann::json& item : root.at("items")) {
        for (const char* const part : {"prompt_ids", "answer_ids"}) {
            const auto ids = item.at(part).get<std::vector<TokenId>>();
            text.insert(text.end(), ids.begin(), ids.end());
        }
    }
    text.resize(std::min<std::size_t>(text.size(), kTokens));
    return text;
}

enum class Reading { InChunks, TokenByToken };

// What the model expects after each token.
Result<Distributions> read(
    const std::filesystem::path& model, std::span<const TokenId> text, bool exact, Reading reading)
{
    WASTE_TRY(BenchEngine engine,
        BenchEngine::open(model, {.cacheBytes = kCacheBytes, .contextTokens = kTokens + 1, .exact = exact}));
    Distributions distributions;
    AppendOptions options;
    options.logitsSink = [&](std::uint64_t, std::span<const float> logits) {
        distributions.push_back(logProbabilities(logits));
    };
    const std::size_t step = reading == Reading::InChunks ? text.size() : 1;
    for (std::size_t first = 0; first < text.size(); first += step)
        WASTE_TRY_STATUS(engine.session().append(text.subspan(first, step), options));
    return distributions;
}

double meanDivergence(const Distributions& exact, const Distributions& other)
{
    double sum = 0;
    for (std::size_t position = 0; position < exact.size(); ++position)
        sum += divergence(exact[position], other[position]);
    return sum / static_cast<double>(exact.size());
}

struct Case {
    const char* name;
    ExpertFormat format;
};
constexpr Case kCases[] = {{"VQ4P", ExpertFormat::Vq4p}, {"VQ3R", ExpertFormat::Vq3r}};

Status measure(Table& table, const std::filesystem::path& folder)
{
    WASTE_TRY(const auto text, readText(WASTE_FIXTURES "/k3-mini/eval_set.json"));
    for (const Reading reading : {Reading::InChunks, Reading::TokenByToken}) {
        WASTE_TRY(const Distributions published, read(WASTE_K3_MINI_CHECKPOINT, text, true, reading));
        for (const Case& test : kCases) {
            ConvertOptions options;
            options.source = WASTE_K3_MINI_CHECKPOINT;
            options.target = folder / ("k3-mini " + std::string(test.name) + " reduced.waste");
            options.expertFormat = test.format;
            options.quality = ConvertQuality::Fast;
            options.force = true;
            WASTE_TRY_STATUS(convert(options));
            WASTE_TRY(const Distributions exact, read(options.target, text, true, reading));
            WASTE_TRY(const Distributions reduced, read(options.target, text, false, reading));
            const double conversion = meanDivergence(published, exact);
            const double added = meanDivergence(exact, reduced);
            const std::string name = std::string("K3-mini, ") + test.name
                + (reading == Reading::InChunks ? " in chunks" : " token by token") + ": divergence ";
            constexpr double kPercent = 100;
            table.add({name + "of the conversion", conversion, "nat"});
            table.add({.name = name + "of the reduced kernels, of that",
                .value = kPercent * added / conversion,
                .unit = "%",
                .goalRatio = 1,
                .lessIsBetter = true,
                .reference = kPercent * kShareMax});
        }
    }
    return {};
}

} // namespace

void measureReduced(Table& table, const std::filesystem::path& folder)
{
    if (const Status status = measure(table, folder); !status)
        table.note(status.error().message);
}

} // namespace waste::benchmark
