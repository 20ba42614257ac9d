#include "convert/bank_writer.h"

#include "checkpoint/tensor_names.h"
#include "container/record_header.h"
#include "convert/source_reader.h"
#include "convert/space_wait.h"
#include "convert/vq_codebooks.h"
#include "convert/vq_encoder.h"
#include "kernels/checksum.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

namespace waste {
namespace {

// Codebooks are fitted to vectors drawn from at most as many experts of the layer.
constexpr std::uint32_t kSampledExpertsMax = 12;

// Three codebooks of 256 leave 20 % of real weights; a matrix far above that was not understood.
constexpr double kMatrixErrorMax = 0.30;

// What waits to reach the device is at most as much, so that the flush of a whole bank, which nothing can stop, is
// short.
constexpr std::uint64_t kUnflushedBytesMax = std::uint64_t{256} << 20;

class BankWriter {
public:
    BankWriter(const CheckpointFiles& files, const ConversionPlan& plan, const BankEntry& entry, ThreadPool& pool)
        : m_files(files)
        , m_plan(plan)
        , m_entry(entry)
        , m_pool(pool)
    {
    }

    Status fit(const ConversionProgress& progress)
    {
        const StopCheck stopped = [&progress] { return progress.isStopped(); };
        for (const ExpertMatrix matrix : kExpertMatrices) {
            WASTE_TRY(std::vector<float> sample, drawSample(matrix, progress));
            const Random random = randomFor(matrix, m_entry.expertCount);
            m_codebooks.push_back(
                VqCodebooks::fit(std::move(sample), m_plan.quant, m_plan.vq, random, *m_plan.kernels, m_pool, stopped));
            WASTE_TRY_STATUS(progress.checkCancelled());
        }
        return {};
    }

    // Encodes one expert into a record that is zero, or holds another one of this layer.
    Status encode(std::uint32_t expert, std::span<std::byte> record, const ConversionProgress& progress)
    {
        const StopCheck stopped = [&progress] { return progress.isStopped(); };
        for (const ExpertMatrix matrix : kExpertMatrices) {
            WASTE_TRY(const CheckpointTensor* tensor, readMatrix(expert, matrix));
            const auto k = static_cast<std::size_t>(matrix);
            const SquaredError error = encodeVqMatrix(m_values, m_plan.geometry.matrices[k], m_plan.quant,
                m_codebooks[k], m_plan.vq.width, record, m_pool, stopped);
            WASTE_TRY_STATUS(progress.checkCancelled());
            if (!error.isFinite())
                return scaleOverflow(*tensor);
            WASTE_TRY_STATUS(accept(*tensor, error));
            m_errors[k] += error;
        }
        writeHeader(expert, record);
        return {};
    }

    FinishedLayer finish() const
    {
        FinishedLayer layer;
        layer.errors = {m_errors[0].relative(), m_errors[1].relative(), m_errors[2].relative()};
        std::uint32_t id = m_entry.codebookBase;
        for (const VqCodebooks& codebooks : m_codebooks) {
            codebooks.appendRecords(id, layer.codebooks);
            id += m_plan.quant.stages;
        }
        return layer;
    }

private:
    // Every draw has a generator of its own: `step` is an expert, or the number of experts for the fit.
    [[nodiscard]] Random randomFor(ExpertMatrix matrix, std::uint32_t step) const
    {
        return Random::forPart(m_plan.seed, m_entry.layer, static_cast<std::uint64_t>(matrix), step);
    }

    Result<const CheckpointTensor*> readMatrix(std::uint32_t expert, ExpertMatrix matrix)
    {
        const std::string name = expertTensorName(m_plan.config.tensorPrefix, {m_entry.layer, expert, matrix});
        const CheckpointTensor* tensor = m_files.find(name);
        assert(tensor != nullptr); // the plan has seen it
        m_values.resize(tensor->elements());
        WASTE_TRY_STATUS(readFinite(m_files, *tensor, 0, m_values, m_pool));
        return tensor;
    }

    Result<std::vector<float>> drawSample(ExpertMatrix matrix, const ConversionProgress& progress)
    {
        const std::uint32_t step = std::max(1U, m_entry.expertCount / kSampledExpertsMax);
        const std::uint32_t count = std::min(kSampledExpertsMax, m_entry.expertCount);
        VqSample sample;
        for (std::uint32_t i = 0; i < count; ++i) {
            WASTE_TRY_STATUS(progress.checkCancelled());
            const std::uint32_t expert = i * step;
            WASTE_TRY_STATUS(readMatrix(expert, matrix));
            Random random = randomFor(matrix, expert);
            const std::uint32_t columns = m_plan.geometry.matrices[static_cast<std::size_t>(matrix)].columns;
            sample.add(m_values, columns, m_plan.vq.sampledVectorsMax / kSampledExpertsMax, random);
        }
        return sample.take();
    }

    [[nodiscard]] Status accept(const CheckpointTensor& tensor, const SquaredError& error) const
    {
        if (m_plan.quant.bitsPerWeight() < 3 || error.relative() <= kMatrixErrorMax)
            return {};
        std::array<char, 16> percent{};
        std::snprintf(percent.data(), percent.size(), "%.1f %%", 100 * error.relative());
        return Error{ErrorCode::Unsupported, "",
            "tensor \"" + tensor.name + "\" would be stored with an error of " + percent.data()
                + "; it does not look like an expert's weights"};
    }

    void writeHeader(std::uint32_t expert, std::span<std::byte> record) const
    {
        RecordHeader header =
            RecordHeader::expected(m_plan.geometry, m_plan.quant, static_cast<std::uint16_t>(m_entry.layer),
                static_cast<std::uint16_t>(expert), static_cast<std::uint16_t>(m_entry.codebookBase));
        header.payloadCrc32 = kernels::crc32(record.first(m_plan.geometry.payloadEnd).subspan(kRecordHeaderBytes));
        header.encode(record.first<kRecordHeaderBytes>());
    }

    const CheckpointFiles& m_files;
    const ConversionPlan& m_plan;
    const BankEntry& m_entry;
    ThreadPool& m_pool;
    std::vector<VqCodebooks> m_codebooks; // gate, up, down
    std::array<SquaredError, kExpertMatrixCount> m_errors;
    std::vector<float> m_values; // the matrix in work
};

} // namespace

Result<FinishedLayer> writeBank(const CheckpointFiles& files, const ConversionPlan& plan, const BankEntry& entry,
    OutputFile& bank, ThreadPool& pool, ConversionProgress& progress)
{
    BankWriter writer(files, plan, entry, pool);
    WASTE_TRY_STATUS(writer.fit(progress));
    // Zeroed once: every expert is written over the one before, byte for byte.
    std::vector<std::byte> record(plan.geometry.strideBytes);
    std::uint64_t unflushedBytes = 0;
    for (std::uint32_t expert = 0; expert < entry.expertCount; ++expert) {
        WASTE_TRY_STATUS(progress.checkCancelled());
        WASTE_TRY_STATUS(writer.encode(expert, record, progress));
        WASTE_TRY_STATUS(
            writePatiently(bank.path(), entry.bytes - bank.sizeBytes(), progress, [&] { return bank.append(record); }));
        unflushedBytes += record.size();
        if (unflushedBytes >= kUnflushedBytesMax) {
            WASTE_TRY_STATUS(bank.flush());
            unflushedBytes = 0;
        }
        progress.advance(record.size());
    }
    return writer.finish();
}

} // namespace waste
