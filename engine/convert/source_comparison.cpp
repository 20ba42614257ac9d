#include "waste/verifier.h"

#include "checkpoint/checkpoint_files.h"
#include "checkpoint/tensor_names.h"
#include "container/bank_reader.h"
#include "container/codebooks.h"
#include "container/container_files.h"
#include "container/dequantize.h"
#include "container/trunk.h"
#include "convert/squared_error.h"
#include "kernels/thread_pool.h"
#include "platform/pages.h"
#include "platform/path_text.h"
#include "platform/threads.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <memory>
#include <new>
#include <utility>

namespace waste {
namespace {

constexpr std::string_view kReason = "source";

// Three bits lose 16 to 22 % of weights like those of released models, two bits a third. Weights that have nothing to
// do with each other differ by more than 100 %.
constexpr double kExpertErrorMax = 0.30; // at three bits and more (spec: conversion 4)
constexpr double kQuantisedErrorMax = 0.5;

// Rows of the trunk that are compared at a time.
constexpr std::uint64_t kTileElements = std::uint64_t{1} << 20;

struct MeanError {
    double sum = 0;
    std::uint64_t count = 0;

    void add(double error)
    {
        sum += error;
        ++count;
    }
    [[nodiscard]] double mean() const { return count > 0 ? sum / static_cast<double>(count) : 0; }
};

SquaredError errorBetween(std::span<const float> original, std::span<const float> decoded)
{
    SquaredError error;
    for (std::size_t i = 0; i < original.size(); ++i)
        error.add(original[i], decoded[i]);
    return error;
}

std::string percentText(double error)
{
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.1f %%", 100 * error);
    return text.data();
}

// A trunk tensor's place in the model: "model.layers.3.self_attn.q_proj.weight" is {3, "self_attn.q_proj"}.
struct TrunkPlace {
    std::optional<std::uint32_t> layer;
    std::string kind;
};

TrunkPlace placeOf(std::string_view name)
{
    constexpr std::string_view kLayers = "model.layers.";
    constexpr std::string_view kSuffix = ".weight";
    TrunkPlace place;
    if (name.ends_with(kSuffix))
        name.remove_suffix(kSuffix.size());
    const std::size_t start = name.find(kLayers);
    std::uint32_t layer = 0;
    const char* end = name.data() + name.size();
    if (start != std::string_view::npos) {
        const auto [rest, error] = std::from_chars(name.data() + start + kLayers.size(), end, layer);
        if (error == std::errc() && rest != end && *rest == '.') {
            place.layer = layer;
            name = {rest + 1, end};
        }
    }
    place.kind = name;
    return place;
}

// One expert against its source; the memory of one thread.
class ExpertComparison {
public:
    using Errors = std::array<SquaredError, kExpertMatrixCount>;

    static Result<std::unique_ptr<ExpertComparison>> create(const CheckpointFiles& source, const Manifest& manifest)
    {
        WASTE_TRY(Pages pages, Pages::allocate(manifest.geometry.strideBytes, "comparing experts"));
        return std::unique_ptr<ExpertComparison>(new ExpertComparison(source, manifest, std::move(pages)));
    }

    Result<Errors> compare(const BankReader& reader, std::uint32_t layer, std::uint32_t expert)
    {
        const auto record = m_pages.bytes().first(reader.strideBytes());
        WASTE_TRY_STATUS(reader.readRecord(static_cast<std::uint16_t>(expert), record, Verification::Headers));
        const auto views = reader.view(record);
        Errors errors;
        for (const ExpertMatrix matrix : kExpertMatrices) {
            const auto k = static_cast<std::size_t>(matrix);
            const std::string name = expertTensorName(m_manifest.config.tensorPrefix, {layer, expert, matrix});
            const CheckpointTensor* tensor = m_source.find(name);
            assert(tensor != nullptr);
            const auto original = std::span(m_original).first(tensor->elements());
            const auto decoded = std::span(m_decoded).first(tensor->elements());
            WASTE_TRY_STATUS(m_source.read(*tensor, 0, original));
            dequantize(views[k], decoded);
            errors[k] = errorBetween(original, decoded);
        }
        return errors;
    }

private:
    ExpertComparison(const CheckpointFiles& source, const Manifest& manifest, Pages pages)
        : m_source(source)
        , m_manifest(manifest)
        , m_pages(std::move(pages))
    {
        std::size_t elements = 0; // here and not in a thread of the pool, where an exception has nowhere to go
        for (const ExpertGeometry::Matrix& matrix : manifest.geometry.matrices)
            elements = std::max(elements, std::size_t{matrix.rows} * matrix.columns);
        m_original.resize(elements);
        m_decoded.resize(elements);
    }

    const CheckpointFiles& m_source;
    const Manifest& m_manifest;
    Pages m_pages;
    std::vector<float> m_original; // of the largest matrix, like m_decoded
    std::vector<float> m_decoded;
};

class Comparison {
public:
    Comparison(const ContainerFiles& files, const CheckpointFiles& source, const CompareOptions& options,
        const std::function<void(const Damage&)>& onDamage, const ProgressSink& progress, const CancelFlag& cancel)
        : m_files(files)
        , m_source(source)
        , m_options(options)
        , m_onDamage(onDamage)
        , m_progress(progress)
        , m_cancel(cancel)
        , m_pool({.threadCount = options.threadCount != 0 ? options.threadCount : physicalCoreCount()})
    {
    }

    Result<SourceComparison> run()
    {
        const Manifest& manifest = m_files.manifest;
        if (m_options.layer && manifest.bank(*m_options.layer) == nullptr)
            return Error{ErrorCode::InvalidArgument, "layer",
                "layer " + std::to_string(*m_options.layer) + " has no experts in this container."};
        for (const TrunkEntry& entry : manifest.trunk)
            m_totalBytes += m_options.layer ? 0 : entry.layout.bytes();
        for (const BankEntry& bank : manifest.banks)
            m_totalBytes += isWanted(bank) ? bank.bytes : 0;

        WASTE_TRY_STATUS(checkSource());
        if (!m_options.layer)
            WASTE_TRY_STATUS(compareTrunk());
        WASTE_TRY_STATUS(compareExperts());
        m_result.expertError = m_experts.mean();
        m_result.trunkError = m_trunk.mean();
        return m_result;
    }

private:
    [[nodiscard]] bool isWanted(const BankEntry& bank) const
    {
        return !m_options.layer || *m_options.layer == bank.layer;
    }

    // Whether the source has what is compared, before hours of reading.
    [[nodiscard]] Status checkSource() const
    {
        const Manifest& manifest = m_files.manifest;
        for (const TrunkEntry& entry : manifest.trunk) {
            // The vision tower's kernels are stored flattened, so only the number of elements has to agree.
            const CheckpointTensor* tensor = m_source.find(entry.name);
            if (entry.format && !m_options.layer
                && (tensor == nullptr || tensor->elements() != std::uint64_t{entry.layout.rows} * entry.layout.columns))
                return anotherModel(entry.name);
        }
        for (const BankEntry& bank : manifest.banks) {
            for (std::uint32_t expert = 0; isWanted(bank) && expert < bank.expertCount; ++expert) {
                for (const ExpertMatrix matrix : kExpertMatrices) {
                    const auto& size = manifest.geometry.matrices[static_cast<std::size_t>(matrix)];
                    const std::string name =
                        expertTensorName(manifest.config.tensorPrefix, {bank.layer, expert, matrix});
                    const CheckpointTensor* tensor = m_source.find(name);
                    if (tensor == nullptr || tensor->shape != std::vector<std::uint64_t>{size.rows, size.columns})
                        return anotherModel(name);
                }
            }
        }
        return {};
    }

    [[nodiscard]] Error anotherModel(const std::string& tensor) const
    {
        return {ErrorCode::InvalidArgument, "",
            textFromPath(m_source.directory()) + " is not what this model was made from: tensor \"" + tensor
                + "\" is missing or has another shape"};
    }

    Status compareTrunk()
    {
        WASTE_TRY(const Trunk trunk, Trunk::open(m_files.directory));
        for (const TrunkEntry& entry : m_files.manifest.trunk) {
            if (!entry.format)
                continue;
            WASTE_TRY(const SquaredError error, compareTensor(trunk, entry));
            acceptTensor(entry, error.relative());
            WASTE_TRY_STATUS(advance("trunk", entry.layout.bytes()));
        }
        return {};
    }

    Result<SquaredError> compareTensor(const Trunk& trunk, const TrunkEntry& entry)
    {
        const CheckpointTensor* tensor = m_source.find(entry.name);
        assert(tensor != nullptr);
        const TrunkLayout& layout = entry.layout;
        WASTE_TRY(const Pages row, Pages::allocate(Trunk::residentRowBytes(entry), "comparing the trunk"));
        const std::uint64_t tileRowsMax = std::max<std::uint64_t>(1, kTileElements / layout.columns);
        std::vector<float> original(std::min<std::uint64_t>(tileRowsMax, layout.rows) * layout.columns);
        std::vector<float> decoded(layout.columns);
        SquaredError error;
        for (std::uint64_t first = 0; first < layout.rows; first += tileRowsMax) {
            WASTE_TRY_STATUS(checkCancelled());
            const std::uint64_t rows = std::min(tileRowsMax, layout.rows - first);
            const auto tile = std::span(original).first(rows * layout.columns);
            WASTE_TRY_STATUS(m_source.read(*tensor, first * layout.columns, tile));
            for (std::uint64_t r = 0; r < rows; ++r) {
                const auto target = row.bytes().first(Trunk::residentRowBytes(entry));
                WASTE_TRY(const auto view, trunk.loadRow(entry, static_cast<std::uint32_t>(first + r), target));
                dequantize(view, decoded);
                error += errorBetween(tile.subspan(r * layout.columns, layout.columns), decoded);
            }
        }
        return error;
    }

    void acceptTensor(const TrunkEntry& entry, double error)
    {
        ++m_result.matrixCount;
        const bool isExact = entry.format == kernels::WeightFormat::F32;
        const bool isTooFar = isExact ? error != 0 : !(error <= kQuantisedErrorMax);
        if (isTooFar)
            tell({.file = std::string(kTrunkFile),
                .tensor = entry.name,
                .offset = entry.offset,
                .error = farError("tensor " + entry.name, error)});
        if (isExact)
            return;
        m_trunk.add(error);
        const TrunkPlace place = placeOf(entry.name);
        (place.layer ? m_result.byLayer[*place.layer] : m_result.outside)[place.kind] = error;
    }

    Status compareExperts()
    {
        const Manifest& manifest = m_files.manifest;
        std::vector<std::string> ignored;
        WASTE_TRY(
            const Codebooks codebooks, Codebooks::load(m_files.directory, manifest, Verification::Headers, ignored));
        for (std::uint32_t i = 0; i < m_pool.threadCount() && !manifest.banks.empty(); ++i) {
            WASTE_TRY(auto worker, ExpertComparison::create(m_source, manifest));
            m_workers.push_back(std::move(worker));
        }
        for (std::size_t bank = 0; bank < manifest.banks.size(); ++bank) {
            if (!isWanted(manifest.banks[bank]))
                continue;
            WASTE_TRY(const BankReader reader,
                BankReader::open(m_files.directory, manifest, bank, codebooks, /*direct=*/true));
            WASTE_TRY_STATUS(compareBank(manifest.banks[bank], reader));
        }
        return {};
    }

    // Each thread compares experts of its own; results are taken in the order of the experts.
    Status compareBank(const BankEntry& bank, const BankReader& reader)
    {
        std::array<MeanError, kExpertMatrixCount> means;
        const std::uint32_t batchMax = 2 * m_pool.threadCount();
        for (std::uint32_t first = 0; first < bank.expertCount; first += batchMax) {
            WASTE_TRY_STATUS(checkCancelled());
            const std::uint32_t count = std::min(batchMax, bank.expertCount - first);
            std::vector<Result<ExpertComparison::Errors>> results(count, Error{});
            m_pool.parallelFor(count, 1, [&](std::uint32_t begin, std::uint32_t end, std::uint32_t worker) {
                for (std::uint32_t i = begin; i < end; ++i)
                    results[i] = m_workers[worker]->compare(reader, bank.layer, first + i);
            });
            for (std::uint32_t i = 0; i < count; ++i) {
                WASTE_TRY(const ExpertComparison::Errors errors, std::move(results[i]));
                for (std::size_t k = 0; k < kExpertMatrixCount; ++k)
                    acceptMatrix(bank, first + i, k, errors[k].relative(), means[k]);
                WASTE_TRY_STATUS(advance("experts", reader.strideBytes()));
            }
        }
        for (std::size_t k = 0; k < kExpertMatrixCount; ++k)
            m_result.byLayer[bank.layer][std::string(kExpertMatrixNames[k])] = means[k].mean();
        return {};
    }

    void acceptMatrix(const BankEntry& bank, std::uint32_t expert, std::size_t k, double error, MeanError& mean)
    {
        ++m_result.matrixCount;
        mean.add(error);
        m_experts.add(error);
        const double errorMax =
            m_files.manifest.expertQuant.bitsPerWeight() >= 3 ? kExpertErrorMax : kQuantisedErrorMax;
        if (error <= errorMax)
            return;
        tell({.file = bank.file,
            .layer = bank.layer,
            .expert = expert,
            .offset = expert * m_files.manifest.geometry.strideBytes,
            .error = farError("the " + std::string(kExpertMatrixNames[k]) + " matrix", error)});
    }

    static Error farError(const std::string& what, double error)
    {
        return {ErrorCode::Corrupt, std::string(kReason),
            what + " is " + percentText(error)
                + " away from its source: it was made from other weights, or damaged. Convert the model again."};
    }

    Status checkCancelled() const
    {
        if (m_cancel.isCancelled())
            return Error{ErrorCode::Cancelled, "", "The comparison was cancelled."};
        return {};
    }

    Status advance(std::string_view stage, std::uint64_t bytes)
    {
        m_result.bytesRead += bytes;
        if (m_progress)
            m_progress({stage, m_result.bytesRead, m_totalBytes});
        return checkCancelled();
    }

    void tell(const Damage& damage)
    {
        ++m_result.damageCount;
        m_onDamage(damage);
    }

    const ContainerFiles& m_files;
    const CheckpointFiles& m_source;
    const CompareOptions& m_options;
    const std::function<void(const Damage&)>& m_onDamage;
    const ProgressSink& m_progress;
    const CancelFlag& m_cancel;
    ThreadPool m_pool;
    std::vector<std::unique_ptr<ExpertComparison>> m_workers; // one per thread of the pool

    std::uint64_t m_totalBytes = 0;
    MeanError m_experts;
    MeanError m_trunk;
    SourceComparison m_result;
};

} // namespace

Result<SourceComparison> compareWithSource(const CompareOptions& options,
    const std::function<void(const Damage&)>& onDamage, const ProgressSink& progress, const CancelFlag& cancel)
{
    try {
        WASTE_TRY(const ContainerFiles files, ContainerFiles::open(options.container));
        WASTE_TRY(const std::unique_ptr<const CheckpointFiles> source, CheckpointFiles::open(options.checkpoint));
        return Comparison(files, *source, options, onDamage, progress, cancel).run();
    } catch (const std::bad_alloc&) {
        return Error{ErrorCode::OutOfMemory, "out_of_memory", "there is not enough memory to compare these weights"};
    }
}

} // namespace waste
