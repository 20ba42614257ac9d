// How long an expert of Kimi K3 takes to encode, and from that the whole model. Weights and codebooks are random: a
// search takes the same time for all.

#include "benchmark.h"

#include "convert/conversion_plan.h"
#include "convert/vq_encoder.h"
#include "kernels/kernels.h"
#include "kernels/thread_pool.h"
#include "platform/threads.h"
#include "support/test_weights.h"

#include <array>
#include <ctime>
#include <string>
#include <vector>

namespace waste::benchmark {
namespace {

constexpr std::uint32_t kExpertWidth = 3072;
constexpr std::uint32_t kInputWidth = 3584;
constexpr double kLayers = 92;
constexpr double kExperts = kLayers * 896;
constexpr double kFits = kLayers * kExpertMatrixCount;
constexpr double kScalingGoal = 0.9; // of the number of cores

struct Times {
    double clock = 1e9; // seconds
    double processor = 1e9; // seconds of all threads; the machine's other work adds little to it
};

template<typename Work>
Times fastest(int rounds, const Work& work)
{
    Times best;
    for (int round = 0; round < rounds; ++round) {
        const std::clock_t processor = std::clock();
        const auto clock = std::chrono::steady_clock::now();
        work();
        best.clock =
            std::min(best.clock, std::chrono::duration<double>(std::chrono::steady_clock::now() - clock).count());
        best.processor = std::min(
            best.processor, static_cast<double>(std::clock() - processor) / static_cast<double>(CLOCKS_PER_SEC));
    }
    return best;
}

struct Case {
    std::string name;
    ExpertFormat format;
    ConvertQuality quality;
    int rounds;
    double goalSeconds; // by the clock, on two cores
};
const Case kCases[] = {
    {"VQ4P, fast", ExpertFormat::Vq4p, ConvertQuality::Fast, 3, 0.5},
    {"VQ4P, default", ExpertFormat::Vq4p, ConvertQuality::Default, 3, 1.2},
    {"VQ4P, best", ExpertFormat::Vq4p, ConvertQuality::Best, 1, 6},
    {"VQ3R, fast", ExpertFormat::Vq3r, ConvertQuality::Fast, 2, 0.5},
    {"VQ3R, default", ExpertFormat::Vq3r, ConvertQuality::Default, 2, 1.2},
    {"VQ3R, best", ExpertFormat::Vq3r, ConvertQuality::Best, 1, 6},
};

class ExpertOfK3 {
public:
    ExpertOfK3()
    {
        for (std::size_t k = 0; k < m_matrices.size(); ++k)
            m_matrices[k] = test::expertLike(kExpertWidth, kInputWidth, k);
    }

    void encode(const ExpertGeometry& geometry, const ExpertQuant& quant, const VqCodebooks& codebooks,
        kernels::BeamWidth width, ThreadPool& pool)
    {
        m_record.resize(geometry.strideBytes);
        for (std::size_t k = 0; k < m_matrices.size(); ++k)
            encodeVqMatrix(m_matrices[k], geometry.matrices[k], quant, codebooks, width, m_record, pool);
    }

private:
    std::array<std::vector<float>, kExpertMatrixCount> m_matrices;
    std::vector<std::byte> m_record;
};

Status measure(Table& table, const Case& test, const kernels::KernelTable& kernels, ExpertOfK3& expert)
{
    const ExpertQuant quant = expertQuantOf(test.format);
    const VqRecipe recipe = recipeOf(test.quality, test.format);
    WASTE_TRY(const ExpertGeometry geometry, ExpertGeometry::compute(kExpertWidth, kInputWidth, quant, "benchmark"));
    const std::vector<float> sample = test::gaussians(recipe.sampledVectorsMax * kVectorDim, 1);
    const std::uint32_t cores = physicalCoreCount();
    ThreadPool allCores({.threadCount = cores});
    std::optional<VqCodebooks> codebooks;
    const Times fit =
        fastest(1, [&] { codebooks.emplace(VqCodebooks::fit(sample, quant, recipe, Random(1), kernels, allCores)); });
    ThreadPool oneCore({.threadCount = 1});
    const auto encode = [&](ThreadPool& pool) {
        return fastest(test.rounds, [&] { expert.encode(geometry, quant, *codebooks, recipe.width, pool); });
    };
    const Times one = encode(oneCore);
    const Times all = encode(allCores);

    Line onAll{test.name + ": an expert of 33 M weights, all cores", all.clock, "s"};
    onAll.lessIsBetter = true;
    onAll.goal = cores == 2 ? test.goalSeconds : 0;
    table.add({test.name + ": an expert of 33 M weights, one core", one.clock, "s"});
    table.add(onAll);
    table.add({test.name + ": an expert, processor time of one core", one.processor, "s"});
    table.add({test.name + ": times as fast on all cores", one.clock / all.clock, "", static_cast<double>(cores),
        kScalingGoal});
    table.add({test.name + ": codebooks of one kind of matrix, processor time", fit.processor, "s"});
    const double seconds = kExperts * one.processor + kFits * fit.processor;
    for (const double count : {8.0, 16.0}) {
        constexpr double kSecondsPerHour = 3600;
        table.add({test.name + ": all of K3, " + std::to_string(static_cast<int>(count)) + " cores like this one",
            seconds / kSecondsPerHour / count, "h"});
    }
    return {};
}

} // namespace

void measureConversion(Table& table)
{
    const auto kernels = kernels::selectKernels();
    if (!kernels) {
        table.note(kernels.error().message);
        return;
    }
    ExpertOfK3 expert;
    for (const Case& test : kCases) {
        if (const Status status = measure(table, test, **kernels, expert); !status)
            table.note(status.error().message);
    }
}

} // namespace waste::benchmark
