// What a conversion costs the built-in model, whose published weights are exact: how well it still answers the
// evaluation set, and how far its next-token distributions are from those of the exact weights.

#include "bench_engine.h"
#include "benchmark.h"
#include "distributions.h"

#include "waste/converter.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace waste::benchmark {
namespace {

constexpr std::uint64_t kCacheBytes = 64U << 20; // all experts

struct Question {
    std::vector<TokenId> ids; // with the answer
    std::size_t promptTokens = 0;
};

Result<std::vector<Question>> readQuestions(const std::string& fileName)
{
    const auto root = nlohmann::json::parse(std::ifstream(fileName), nullptr, false);
    if (!root.is_object())
        return Error{ErrorCode::NotFound, "", "quality: " + fileName + " is not there"};
    std::vector<Question> questions;
    for (const nlohmann::json& item : root.at("items")) {
        Question question{item.at("prompt_ids").get<std::vector<TokenId>>(), 0};
        question.promptTokens = question.ids.size();
        const auto answer = item.at("answer_ids").get<std::vector<TokenId>>();
        question.ids.insert(question.ids.end(), answer.begin(), answer.end());
        questions.push_back(std::move(question));
    }
    return questions;
}

// Sums over positions. Divergences are those of Kullback and Leibler, of the exact weights' distributions of the next
// token to these, in nats: answers are what the model is sure of, prompts are not.
struct Score {
    double answerTokens = 0;
    double negativeLogLikelihood = 0; // of the answers' tokens
    double answerDivergence = 0;
    double promptTokens = 0;
    double promptDivergence = 0;
    double exactAnswers = 0; // every token of which is the most probable one
};

// What the model expects after each token of a question.
Result<Distributions> ask(BenchEngine& engine, const Question& question)
{
    Distributions distributions;
    AppendOptions options;
    options.logitsSink = [&](std::uint64_t, std::span<const float> logits) {
        distributions.push_back(logProbabilities(logits));
    };
    engine.session().reset();
    WASTE_TRY_STATUS(engine.session().append(std::span(question.ids).first(question.ids.size() - 1), options));
    return distributions;
}

void add(const Question& question, const Distributions& exact, const Distributions& other, Score& score)
{
    bool isRight = true;
    for (std::size_t position = 0; position < other.size(); ++position) {
        const double distance = divergence(exact[position], other[position]);
        if (position + 1 < question.promptTokens) {
            score.promptTokens += 1;
            score.promptDivergence += distance;
            continue;
        }
        const float chosen = other[position][static_cast<std::size_t>(question.ids[position + 1])];
        score.answerTokens += 1;
        score.answerDivergence += distance;
        score.negativeLogLikelihood -= static_cast<double>(chosen);
        isRight = isRight && chosen == std::ranges::max(other[position]);
    }
    score.exactAnswers += isRight ? 1 : 0;
}

// A model whose answers are compared with those of the exact weights.
struct Candidate {
    std::string name;
    BenchEngine engine;
    Score score;
    double weightError = 0; // of the experts
};

void tell(Table& table, const Candidate& candidate)
{
    constexpr double kMillis = 1000;
    const Score& score = candidate.score;
    const std::string name = "K3-mini, " + candidate.name;
    table.add(
        {name + ": ln of the answers' perplexity", kMillis * score.negativeLogLikelihood / score.answerTokens, "mnat"});
    table.add({name + ": answers token for token", score.exactAnswers, "of 350"});
    if (candidate.weightError == 0)
        return;
    table.add({name + ": error of the experts' weights", 100 * candidate.weightError, "%"});
    table.add({name + ": divergence within answers", kMillis * score.answerDivergence / score.answerTokens, "mnat"});
    table.add({name + ": divergence within prompts", kMillis * score.promptDivergence / score.promptTokens, "mnat"});
}

struct Case {
    const char* name;
    ExpertFormat format;
    ConvertQuality quality;
};
constexpr Case kCases[] = {
    {"VQ4P fast", ExpertFormat::Vq4p, ConvertQuality::Fast},
    {"VQ4P default", ExpertFormat::Vq4p, ConvertQuality::Default},
    {"VQ4P best", ExpertFormat::Vq4p, ConvertQuality::Best},
    {"VQ3R fast", ExpertFormat::Vq3r, ConvertQuality::Fast},
    {"VQ3R default", ExpertFormat::Vq3r, ConvertQuality::Default},
    {"VQ3R best", ExpertFormat::Vq3r, ConvertQuality::Best},
};

Result<Candidate> open(const std::string& name, const std::filesystem::path& model, double weightError)
{
    WASTE_TRY(BenchEngine engine, BenchEngine::open(model, {.cacheBytes = kCacheBytes}));
    return Candidate{name, std::move(engine), {}, weightError};
}

Result<Candidate> convertAndOpen(const Case& test, const std::filesystem::path& folder)
{
    ConvertOptions options;
    options.source = WASTE_K3_MINI_CHECKPOINT;
    options.target = folder / ("k3-mini " + std::string(test.name) + ".waste");
    options.expertFormat = test.format;
    options.quality = test.quality;
    options.force = true;
    WASTE_TRY(const ConvertReport report, convert(options));
    return open(test.name, options.target, (report.errors.gate + report.errors.up + report.errors.down) / 3);
}

Status measure(Table& table, const std::filesystem::path& folder)
{
    WASTE_TRY(const auto questions, readQuestions(WASTE_FIXTURES "/k3-mini/eval_set.json"));
    std::vector<Candidate> candidates; // the exact weights first
    WASTE_TRY(Candidate exact, open("exact weights", WASTE_K3_MINI_CHECKPOINT, 0));
    candidates.push_back(std::move(exact));
    for (const Case& test : kCases) {
        WASTE_TRY(Candidate candidate, convertAndOpen(test, folder));
        candidates.push_back(std::move(candidate));
    }
    for (const Question& question : questions) {
        Distributions exactly;
        for (Candidate& candidate : candidates) {
            WASTE_TRY(const Distributions distributions, ask(candidate.engine, question));
            if (exactly.empty())
                exactly = distributions;
            add(question, exactly, distributions, candidate.score);
        }
    }
    for (const Candidate& candidate : candidates)
        tell(table, candidate);
    return {};
}

} // namespace

void measureQuality(Table& table, const std::filesystem::path& folder)
{
    if (const Status status = measure(table, folder); !status)
        table.note(status.error().message);
}

} // namespace waste::benchmark
