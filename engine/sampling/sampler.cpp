#include "sampling/sampler.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <ranges>
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
    : m_weights(vocabularySize)
{
    m_ranked.reserve(vocabularySize);
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
    assert(!logits.empty() && logits.size() <= m_weights.size());
    WASTE_TRY(const Largest largest, largestOf(logits));
    if (m_options.temperature == 0)
        return largest.id;
    const double mass = weigh(logits, largest.logit);
    const double uniform = nextUniform();
    if (m_options.topK == 0 && m_options.topP == 1 && m_options.minP == 0)
        return pick(std::views::iota(TokenId{0}, static_cast<TokenId>(logits.size())), uniform * mass);
    const double keptMass = keep(logits, mass);
    return pick(m_ranked, uniform * keptMass);
}

// Returns the sum.
double Sampler::weigh(std::span<const float> logits, float largest)
{
    double mass = 0;
    for (std::size_t id = 0; id < logits.size(); ++id) {
        m_weights[id] = std::exp((double{logits[id]} - double{largest}) / m_options.temperature);
        mass += m_weights[id];
    }
    return mass;
}

// Leaves what is kept in m_ranked and returns the sum of its weights. `mass`: of all.
double Sampler::keep(std::span<const float> logits, double mass)
{
    m_ranked.clear();
    m_rankedDownTo = std::numeric_limits<double>::infinity();
    const auto weightOf = [this](TokenId id) { return m_weights[static_cast<std::size_t>(id)]; };
    const bool isRankedFirst = m_options.topK > 0 || m_options.minP > 0;
    if (isRankedFirst) {
        const std::size_t countMax = m_options.topK > 0 ? m_options.topK : logits.size();
        // The weight of the largest logit is 1, so this compares with min_p · p_max; one token remains.
        while (m_ranked.size() < countMax && rankMore(logits, m_options.minP)) { }
        m_ranked.resize(std::min(m_ranked.size(), countMax));
        mass = 0;
        for (const TokenId id : m_ranked)
            mass += weightOf(id);
        if (m_options.topP == 1)
            return mass;
    }
    double kept = 0;
    std::size_t count = 0;
    while (kept < m_options.topP * mass) {
        if (count < m_ranked.size())
            kept += weightOf(m_ranked[count++]);
        else if (isRankedFirst || !rankMore(logits, 0))
            break;
    }
    m_ranked.resize(count);
    return kept;
}

// Appends what comes next by rank, none of it below `weightMin`; false: there is no more. Few tokens make up most of
// the mass, so the heavy ones are looked for first, and most are never sorted.
bool Sampler::rankMore(std::span<const float> logits, double weightMin)
{
    constexpr double kStep = 32; // a pass over the weights costs as much as sorting some hundred
    constexpr double kLastWeight = 1e-30; // then all the rest
    if (m_rankedDownTo <= weightMin)
        return false;
    double from = std::min(m_rankedDownTo, 1.0) / kStep;
    if (from < kLastWeight)
        from = 0;
    from = std::max(from, weightMin);
    const auto before = static_cast<std::ptrdiff_t>(m_ranked.size());
    for (std::size_t id = 0; id < logits.size(); ++id) {
        if (m_weights[id] >= from && m_weights[id] < m_rankedDownTo)
            m_ranked.push_back(static_cast<TokenId>(id));
    }
    std::sort(m_ranked.begin() + before, m_ranked.end(), [&](TokenId a, TokenId b) {
        const float first = logits[static_cast<std::size_t>(a)];
        const float second = logits[static_cast<std::size_t>(b)];
        return first != second ? first > second : a < b;
    });
    m_rankedDownTo = from;
    return true;
}

// The first id at which the cumulative weight reaches `target`; rounding falls through to the last. A weight of 0 is
// impossible, also for a target of 0.
template<typename Ids>
TokenId Sampler::pick(const Ids& ids, double target) const
{
    double cumulative = 0;
    TokenId picked = *ids.begin();
    for (const TokenId id : ids) {
        const double weight = m_weights[static_cast<std::size_t>(id)];
        if (weight == 0)
            continue;
        picked = id;
        cumulative += weight;
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

double logProbability(const kernels::KernelTable& kernels, std::span<const float> logits, TokenId id)
{
    assert(id >= 0 && static_cast<std::size_t>(id) < logits.size());
    const float largest = *std::max_element(logits.begin(), logits.end());
    std::array<float, 256> part; // sums of more would lose digits
    double sum = 0;
    for (std::size_t begin = 0; begin < logits.size(); begin += part.size()) {
        const std::size_t count = std::min(part.size(), logits.size() - begin);
        std::copy_n(logits.begin() + static_cast<std::ptrdiff_t>(begin), count, part.begin());
        sum += double{kernels.expAndSum(part.data(), largest, count)};
    }
    return double{logits[static_cast<std::size_t>(id)]} - double{largest} - std::log(sum);
}

} // namespace waste
