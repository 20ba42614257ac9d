#include "session/loaded_model.h"

#include "container/tensor_inventory.h"
#include "container/trunk.h"
#include "container/trunk_loader.h"
#include "container/verification.h"
#include "experts/bank_store.h"
#include "platform/path_text.h"
#include "session/disk_embedding.h"
#include "session/fingerprint.h"

#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace waste {
namespace {

constexpr const char* kUsageFile = "usage.waste";

Error cancelled()
{
    return Error{ErrorCode::Cancelled, "", "opening the model was cancelled"};
}

// Loads one container piece by piece into `model`. What stays resident is read once and used for every token:
// its checksums are always looked at. Records are read again and again, so theirs are the user's choice.
class ContainerLoader {
public:
    ContainerLoader(const LoadedModel::Request& request, LoadedModel& model)
        : m_request(request)
        , m_container(*request.files.container())
        , m_manifest(m_container.manifest)
        , m_recordVerification(request.options.verifyRecords ? Verification::Full : Verification::Headers)
        , m_model(model)
    {
    }

    Status load()
    {
        WASTE_TRY_STATUS(loadTrunk());
        WASTE_TRY(
            m_model.weights, bindWeights(m_manifest.config, [this](std::string_view name) { return find(name); }));
        WASTE_TRY_STATUS(openEmbedding());
        if (m_manifest.config.expertCount > 0)
            WASTE_TRY_STATUS(openExperts());
        WASTE_TRY(m_model.fingerprint, modelFingerprint(m_request.files, m_checksums));
        return {};
    }

private:
    // The loader's buffers are gone before the cache and intermediate results are taken: the plan holds.
    Status loadTrunk()
    {
        const auto access = m_request.options.directIo ? DirectFile::Access::Direct : DirectFile::Access::Buffered;
        WASTE_TRY(TrunkLoader loader, TrunkLoader::open(m_container.directory, access));
        const std::uint64_t totalBytes = residentTrunkBytes(m_manifest);
        WASTE_TRY(m_model.trunk, Arena::create(totalBytes, "the trunk"));
        if (m_request.options.lockTrunk)
            lockTrunk();
        for (const TensorSpec& spec : requiredTensors(m_manifest.config)) {
            const TrunkEntry* entry = m_manifest.find(spec.name);
            if (entry == nullptr || (isEmbeddingOnDisk(m_manifest) && spec.name == embeddingName(m_manifest.config)))
                continue; // optional and absent, or read row by row
            const auto target = m_model.trunk->take<std::byte>(Trunk::residentBytes(*entry), Trunk::kAlignment);
            m_tensors.emplace(spec.name, loader.add(*entry, target));
        }
        WASTE_TRY_STATUS(loader.run([this, totalBytes](std::uint64_t bytes) -> Status {
            report("trunk", bytes, totalBytes);
            return m_request.cancel != nullptr && m_request.cancel->isCancelled() ? Status(cancelled()) : Status();
        }));
        report("trunk", totalBytes, totalBytes);
        for (const TrunkLoader::Tensor& tensor : loader.tensors()) {
            if (!tensor.entry->crc32) // foreign converters state none
                m_checksums.emplace(tensor.entry->name, tensor.crc32);
        }
        return {};
    }

    // What the system does not allow costs speed alone.
    void lockTrunk()
    {
        const Status locked = m_model.trunk->lock();
        if (!locked && m_request.options.log)
            m_request.options.log(LogLevel::Warning, "the trunk is not locked in memory: " + locked.error().message);
    }

    Status openEmbedding()
    {
        const std::string name = embeddingName(m_manifest.config);
        if (isEmbeddingOnDisk(m_manifest)) {
            WASTE_TRY(Trunk trunk, Trunk::open(m_container.directory));
            WASTE_TRY(
                m_model.embedding, DiskEmbedding::create(std::move(trunk), *m_manifest.find(name), m_request.kernels));
        } else {
            m_model.embedding = std::make_unique<ResidentEmbedding>(m_tensors.at(name));
        }
        return {};
    }

    Status openExperts()
    {
        const std::uint64_t bytes = Codebooks::residentBytes(m_manifest);
        report("codebooks", 0, bytes);
        std::vector<std::string> warnings;
        WASTE_TRY(m_model.codebooks, Codebooks::load(m_container.directory, m_manifest, Verification::Full, warnings));
        for (const std::string& warning : warnings) {
            if (m_request.options.log)
                m_request.options.log(LogLevel::Warning, warning);
        }
        report("codebooks", bytes, bytes);
        WASTE_TRY(std::unique_ptr<const RecordStore> store,
            BankStore::open(m_container.directory, m_manifest, *m_model.codebooks,
                {.direct = m_request.options.directIo, .verification = m_recordVerification}));
        WASTE_TRY(std::unique_ptr<ExpertCache> cache,
            ExpertCache::create(std::move(store),
                {.slotCount = m_request.plan.expertSlotCount,
                    .lendableSlotCount = m_request.plan.visionSlotCount,
                    .expertsPerToken = m_manifest.config.expertsPerToken,
                    .policy = m_request.options.cachePolicy,
                    .guesses = m_request.options.lookahead,
                    .asyncReads = m_request.options.asyncIo}));
        recallUsage(*cache);
        m_model.cache = cache.get();
        m_model.experts = std::move(cache);
        return {};
    }

    // A hint only: without a usable list the model opens as well.
    void recallUsage(ExpertCache& cache)
    {
        m_model.usageFile = m_request.options.usageFile;
        if (m_model.usageFile.empty())
            m_model.usageFile = m_container.directory / kUsageFile;
        const Result<UsageList> list = UsageList::load(m_model.usageFile, cache.store().grid());
        if (list) {
            cache.recall(*list);
            return;
        }
        const bool isNamed = !m_request.options.usageFile.empty();
        const bool isThere = list.error().code != ErrorCode::NotFound;
        m_model.usageFileIsForeign = isNamed && isThere;
        if (m_request.options.log && (isNamed || isThere))
            m_request.options.log(LogLevel::Warning, "the hot list is not used: " + list.error().message);
    }

    [[nodiscard]] std::optional<kernels::MatrixView> find(std::string_view name) const
    {
        const auto found = m_tensors.find(std::string(name));
        return found == m_tensors.end() ? std::nullopt : std::optional(found->second);
    }

    void report(std::string_view stage, std::uint64_t done, std::uint64_t total) const
    {
        if (m_request.progress)
            m_request.progress({stage, done, total});
    }

    const LoadedModel::Request& m_request;
    const ContainerFiles& m_container;
    const Manifest& m_manifest;
    const Verification m_recordVerification;
    LoadedModel& m_model;
    std::unordered_map<std::string, kernels::MatrixView> m_tensors;
    LoadedChecksums m_checksums;
};

Status loadCheckpoint(const LoadedModel::Request& request, LoadedModel& model)
{
    const ModelConfig& config = request.files.config;
    WASTE_TRY(model.exact, ExactWeights::load(*request.files.checkpoint(), config, request.progress, request.cancel));
    WASTE_TRY(model.weights, bindWeights(config, [&model](std::string_view name) { return model.exact->find(name); }));
    const std::optional<kernels::MatrixView> embedding = model.exact->find(embeddingName(config));
    if (!embedding)
        return Error{ErrorCode::Corrupt, "tensor", "the checkpoint has no tensor " + embeddingName(config)};
    model.embedding = std::make_unique<ResidentEmbedding>(*embedding);
    if (config.expertCount > 0)
        model.experts = std::make_unique<ResidentExperts>(*model.exact);
    WASTE_TRY(model.fingerprint, modelFingerprint(request.files, {}));
    return {};
}

} // namespace

Result<std::unique_ptr<LoadedModel>> LoadedModel::load(const Request& request)
{
    auto model = std::make_unique<LoadedModel>();
    if (request.files.container() != nullptr)
        WASTE_TRY_STATUS(ContainerLoader(request, *model).load());
    else
        WASTE_TRY_STATUS(loadCheckpoint(request, *model));
    return model;
}

} // namespace waste
