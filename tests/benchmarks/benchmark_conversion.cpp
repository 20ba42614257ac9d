// How long an expert of Kimi K3 takes to read, encode and write, and from that the whole model. Weights and codebooks
// are random: a search takes the same time for all. Files are in the system's cache, and drives not measured.

#include "benchmark.h"

#include "checkpoint/checkpoint_files.h"
#include "container/integrity.h"
#include "convert/conversion_plan.h"
#include "convert/source_reader.h"
#include "convert/vq_encoder.h"
#include "kernels/checksum.h"
#include "kernels/kernels.h"
#include "kernels/thread_pool.h"
#include "platform/output_file.h"
#include "platform/threads.h"
#include "support/test_weights.h"

#include <array>
#include <ctime>
#include <memory>
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

// What an expert takes besides its codes, in seconds.
struct Handling {
    double shared = 0; // by all threads, as if there were one: reading, decoding and checking the source
    double serial = 0; // by one: checksums and digest of the record, and writing it
};

std::string tensorHeader(const std::string& name, std::uint64_t columns, std::uint64_t begin)
{
    const std::uint64_t end = begin + kExpertWidth * columns;
    return '"' + name + R"(":{"dtype":"U8","shape":[)" + std::to_string(kExpertWidth) + ',' + std::to_string(columns)
        + R"(],"data_offsets":[)" + std::to_string(begin) + ',' + std::to_string(end) + "]}";
}

// A checkpoint that holds one expert's matrix, in MXFP4.
Result<std::unique_ptr<const CheckpointFiles>> matrixOfK3(const std::filesystem::path& folder)
{
    constexpr std::uint64_t kPackedBytes = std::uint64_t{kExpertWidth} * kInputWidth / 2;
    constexpr std::uint64_t kScaleBytes = std::uint64_t{kExpertWidth} * kInputWidth / kMxfp4GroupColumns;
    const std::string header = '{' + tensorHeader("w.weight_packed", kInputWidth / 2, 0) + ','
        + tensorHeader("w.weight_scale", kInputWidth / kMxfp4GroupColumns, kPackedBytes) + '}';
    std::error_code error;
    std::filesystem::create_directories(folder, error); // writing tells
    WASTE_TRY(OutputFile file, OutputFile::open(folder / "model.safetensors", OutputFile::Mode::Replace));
    const std::uint64_t headerBytes = header.size();
    WASTE_TRY_STATUS(file.append(std::as_bytes(std::span(&headerBytes, 1))));
    WASTE_TRY_STATUS(file.append(header));
    WASTE_TRY_STATUS(file.append(std::vector<std::byte>(kPackedBytes, std::byte{0x53})));
    WASTE_TRY_STATUS(file.append(std::vector<std::byte>(kScaleBytes, std::byte{120})));
    WASTE_TRY(OutputFile config, OutputFile::open(folder / "config.json", OutputFile::Mode::Replace));
    WASTE_TRY_STATUS(config.append("{}"));
    return CheckpointFiles::open(folder);
}

// Reads the three matrices of an expert with a pool; the seconds of the fastest of a few times.
Result<double> readingSeconds(const CheckpointFiles& files, ThreadPool& pool)
{
    std::vector<float> values(std::size_t{kExpertWidth} * kInputWidth);
    Status status;
    const double seconds = bestSeconds(3, [&] {
        for (std::size_t k = 0; k < kExpertMatrixCount && status; ++k)
            status = readFinite(files, *files.find("w.weight"), 0, values, pool);
    });
    WASTE_TRY_STATUS(status);
    return seconds;
}

// As the bank's writer and its check do it.
Result<double> serialSeconds(const std::filesystem::path& file)
{
    WASTE_TRY(const ExpertGeometry geometry,
        ExpertGeometry::compute(kExpertWidth, kInputWidth, expertQuantOf(ExpertFormat::Vq4p), "benchmark"));
    std::vector<std::byte> record(geometry.strideBytes, std::byte{0x53});
    WASTE_TRY(OutputFile bank, OutputFile::open(file, OutputFile::Mode::Replace));
    FileDigester digester;
    Status status;
    const double seconds = bestSeconds(3, [&] {
        const std::uint32_t crc = kernels::crc32(record);
        if (status)
            status = bank.writeAt(0, record);
        if (crc != kernels::crc32(record))
            status = Error{ErrorCode::Internal, "", "a record has two checksums"};
        digester.update(record);
    });
    WASTE_TRY_STATUS(status);
    return seconds;
}

Result<Handling> measureHandling(Table& table, const std::filesystem::path& folder)
{
    WASTE_TRY(const auto files, matrixOfK3(folder));
    const std::uint32_t cores = physicalCoreCount();
    ThreadPool oneCore({.threadCount = 1});
    ThreadPool allCores({.threadCount = cores});
    WASTE_TRY(const double one, readingSeconds(*files, oneCore));
    WASTE_TRY(const double all, readingSeconds(*files, allCores));
    WASTE_TRY(const double serial, serialSeconds(folder / "bank.bin"));
    constexpr double kMillis = 1000;
    table.add({"an expert in MXFP4, read and decoded, one core", kMillis * one, "ms"});
    table.add({"an expert in MXFP4, read and decoded, all cores", kMillis * all, "ms"});
    table.add({"an expert's checksums, digest and write, by one thread", kMillis * serial, "ms"});
    return Handling{one, serial};
}

Status measure(
    Table& table, const Case& test, const Handling& handling, const kernels::KernelTable& kernels, ExpertOfK3& expert)
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
    onAll.reference = cores == 2 ? test.goalSeconds : 0;
    onAll.goalRatio = 1;
    table.add({test.name + ": an expert of 33 M weights, one core", one.clock, "s"});
    table.add(onAll);
    table.add({test.name + ": an expert, processor time of one core", one.processor, "s"});
    table.add({test.name + ": times as fast on all cores", one.clock / all.clock, "", static_cast<double>(cores),
        kScalingGoal});
    table.add({test.name + ": codebooks of one kind of matrix, processor time", fit.processor, "s"});
    const double shared = kExperts * (one.processor + handling.shared) + kFits * fit.processor;
    for (const double count : {8.0, 16.0}) {
        constexpr double kSecondsPerHour = 3600;
        table.add({test.name + ": all of K3, " + std::to_string(static_cast<int>(count)) + " cores like this one",
            (shared / count + kExperts * handling.serial) / kSecondsPerHour, "h"});
    }
    return {};
}

} // namespace

void measureConversion(Table& table, const std::filesystem::path& folder)
{
    const auto kernels = kernels::selectKernels();
    if (!kernels) {
        table.note(kernels.error().message);
        return;
    }
    const auto handling = measureHandling(table, folder / "expert of K3");
    if (!handling) {
        table.note(handling.error().message);
        return;
    }
    ExpertOfK3 expert;
    for (const Case& test : kCases) {
        if (const Status status = measure(table, test, *handling, **kernels, expert); !status)
            table.note(status.error().message);
    }
}

} // namespace waste::benchmark
