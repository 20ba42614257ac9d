#include "sampling/sampler.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>

namespace waste {

namespace {

constexpr std::uint64_t kDefaultState = 0x853c49e6748fea9b;

struct Largest {
    TokenId id = 0; // the smallest id among equals
    float logit = 0;
};

// The largest logit. Infinity is refused like a number that is none: no probability follows from it.
Result<Largest> largestOf(std::span<const float> logits)
{
    Largest largest{0, -INFINITY};
    for (std::size_t id = 0; id < logits.size(); ++id) {
        if (std::isnan(logits[id]))
            return Error{ErrorCode::Corrupt, "bad_logits",
                "the model's output for token " + std::to_string(id)
                    + " is not a number; the model is damaged: verify it"};
        if (logits[id] > largest.logit)
            largest = {static_cast<TokenId>(id), logits[id]};
    }
    if (!std::isfinite(largest.logit))
        return Error{
            ErrorCode::Corrupt, "bad_logits", "the model's output allows no token; the model is damaged: verify it"};
    return largest;
}

} // namespace

Sampler::Sampler(std::uint32_t vocabularySize)
{
    m_candidates.reserve(vocabularySize);
}

Status Sampler::configure(const SamplingOptions& options)
{
    const auto refuse = [](const char* message) { return Error{ErrorCode::InvalidArgument, "", message}; };
    if (!std::isfinite(options.temperature) || options.temperature < 0)
        return refuse("the temperature must be a number from 0 up");
    if (!(options.topP > 0 && options.topP <= 1))
        return refuse("top-p must be above 0 and at most 1");
    if (!(options.minP >= 0 && options.minP <= 1))
        return refuse("min-p must be between 0 and 1");
    m_options = options;
    m_randomState = options.seed != 0 ? options.seed : kDefaultState;
    return {};
}

Result<TokenId> Sampler::draw(std::span<const float> logits)
{
    assert(!logits.empty());
    WASTE_TRY(const Largest largest, largestOf(logits));
    if (m_options.temperature == 0)
        return largest.id;
    fillCandidates(logits, largest.logit);
    const double keptMass = truncate();
    return pick(nextUniform() * keptMass);
}

void Sampler::fillCandidates(std::span<const float> logits, float largest)
{
    m_candidates.clear();
    for (std::size_t id = 0; id < logits.size(); ++id) {
        const double weight = std::exp((double{logits[id]} - double{largest}) / m_options.temperature);
        m_candidates.push_back({static_cast<TokenId>(id), logits[id], weight});
    }
}

// Leaves the kept candidates in the order in which they are drawn from: by rank if anything was cut off,
// else by id. Returns the sum of their weights.
double Sampler::truncate()
{
    const auto ranksBefore = [](const Candidate& a, const Candidate& b) {
        return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
    };
    const auto massOf = [](const std::vector<Candidate>& candidates) {
        double mass = 0;
        for (const Candidate& candidate : candidates)
            mass += candidate.weight;
        return mass;
    };
    if (m_options.topK > 0 && m_options.topK < m_candidates.size()) {
        std::nth_element(m_candidates.begin(), m_candidates.begin() + m_options.topK, m_candidates.end(), ranksBefore);
        m_candidates.resize(m_options.topK);
    }
    // The weight of the largest logit is 1, so this compares with min_p · p_max; one candidate remains.
    if (m_options.minP > 0)
        std::erase_if(m_candidates, [&](const Candidate& candidate) { return candidate.weight < m_options.minP; });
    if (m_options.topK > 0 || m_options.minP > 0)
        std::sort(m_candidates.begin(), m_candidates.end(), ranksBefore);
    const double mass = massOf(m_candidates);
    if (m_options.topP == 1)
        return mass;

    // A heap and not a sort: few of the many candidates make up the wanted mass.
    const auto ranksBehind = [&](const Candidate& a, const Candidate& b) { return ranksBefore(b, a); };
    std::make_heap(m_candidates.begin(), m_candidates.end(), ranksBehind);
    auto heapEnd = m_candidates.end();
    double kept = 0;
    while (heapEnd != m_candidates.begin() && kept < m_options.topP * mass) {
        std::pop_heap(m_candidates.begin(), heapEnd, ranksBehind);
        --heapEnd;
        kept += heapEnd->weight;
    }
    std::reverse(heapEnd, m_candidates.end());
    m_candidates.erase(m_candidates.begin(), heapEnd);
    return kept;
}

// The first candidate at which the cumulative weight reaches `target`; rounding falls through to the last.
// A weight of 0 is impossible, also for a target of 0.
TokenId Sampler::pick(double target) const
{
    double cumulative = 0;
    TokenId picked = m_candidates.front().id;
    for (const Candidate& candidate : m_candidates) {
        if (candidate.weight == 0)
            continue;
        picked = candidate.id;
        cumulative += candidate.weight;
        if (cumulative >= target)
            break;
    }
    return picked;
}

double Sampler::nextUniform()
{
    m_randomState = m_randomState * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(m_randomState >> 11) * 0x1p-53;
}

double logProbability(std::span<const float> logits, TokenId id)
{
    assert(id >= 0 && static_cast<std::size_t>(id) < logits.size());
    const double largest = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const float logit : logits)
        sum += std::exp(double{logit} - largest);
    return double{logits[static_cast<std::size_t>(id)]} - largest - std::log(sum);
}

} // namespace waste
