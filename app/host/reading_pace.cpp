#include "host/reading_pace.h"

#include <algorithm>
#include <cmath>

namespace waste::host {

namespace {

// Trunk and tower reached 28 to 38 with AVX2 on one core (engine/README.md, kernels); reading also has other work.
constexpr double kMultiplyAddsPerSecondAndCore = 25e9;
// Fewer say more about the beginning and the end of a reading than about its middle.
constexpr std::uint64_t kTokensThatTell = 8;

} // namespace

ReadingPace::ReadingPace(const Engine& engine)
{
    const ModelInfo& info = engine.container().info();
    const MemoryPlan& plan = engine.plan();
    m_multiplyAddsPerSecond = kMultiplyAddsPerSecondAndCore * engine.threadCount();
    m_towerMultiplyAddsPerSecond = m_multiplyAddsPerSecond;
    m_bytesPerSecond = engine.statistics().openBytesPerSecond;
    m_multiplyAddsPerToken = static_cast<double>(info.parametersActive);
    m_chunkTokens = std::max(1U, plan.prefillChunkTokens);
    const double records = static_cast<double>(info.moeLayerCount) * info.expertCount;
    if (records > 0) {
        m_shareOfExperts = static_cast<double>(info.expertsPerToken) / info.expertCount;
        m_expertBytes = std::max(0.0, records - plan.expertSlotCount) * static_cast<double>(info.expertRecordBytes);
    }
}

void ReadingPace::noteReading(std::uint64_t tokens, double seconds)
{
    const double expected = secondsToRead(tokens) / m_readingFactor;
    if (tokens < kTokensThatTell || expected <= 0 || seconds <= 0)
        return;
    m_readingFactor = seconds / expected;
    m_hasRead = true;
}

void ReadingPace::noteLooking(std::uint64_t multiplyAdds, double seconds)
{
    if (multiplyAdds == 0 || seconds <= 0)
        return;
    m_towerMultiplyAddsPerSecond = static_cast<double>(multiplyAdds) / seconds;
    m_hasLooked = true;
}

// Computing and fetching go on at the same time: the slower of the two decides.
double ReadingPace::secondsToRead(std::uint64_t tokens) const
{
    if (m_multiplyAddsPerSecond <= 0)
        return 0;
    const double count = static_cast<double>(tokens);
    const double computing = count * m_multiplyAddsPerToken / m_multiplyAddsPerSecond;
    double fetching = 0;
    if (m_bytesPerSecond > 0) {
        const double chunks = std::ceil(count / m_chunkTokens);
        const double tokensOfChunk = std::min<double>(count, m_chunkTokens);
        const double used = 1 - std::pow(1 - m_shareOfExperts, tokensOfChunk); // of the experts, if all are alike
        fetching = chunks * used * m_expertBytes / m_bytesPerSecond;
    }
    return m_readingFactor * std::max(computing, fetching);
}

double ReadingPace::secondsFor(const Picture& picture) const
{
    if (m_towerMultiplyAddsPerSecond <= 0)
        return 0;
    return static_cast<double>(picture.multiplyAdds) / m_towerMultiplyAddsPerSecond
        + secondsToRead(picture.positionCount);
}

} // namespace waste::host
