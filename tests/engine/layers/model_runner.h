#pragma once

#include "checkpoint/checkpoint_files.h"
#include "container/container_files.h"
#include "container/tensor_inventory.h"
#include "container/trunk.h"
#include "container/trunk_loader.h"
#include "experts/bank_store.h"
#include "experts/sequential_experts.h"
#include "kernels/kernels.h"
#include "layers/decoder.h"
#include "layers/exact_weights.h"
#include "memory/arena.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace waste::test {

inline nlohmann::json readJson(const std::filesystem::path& file)
{
    std::ifstream stream(file);
    return nlohmann::json::parse(stream, nullptr, false);
}

// Reads every record when it is asked for, into memory of its own, and forgets it when it is released: what
// every cache has to equal.
class PlainRecords final : public SequentialExperts {
public:
    explicit PlainRecords(std::unique_ptr<const RecordStore> store)
        : m_store(std::move(store))
    {
    }
    Result<Pin> acquire(ExpertKey key) override
    {
        Pages pages = std::move(*Pages::allocate(m_store->grid().recordBytes, "a record"));
        WASTE_TRY_STATUS(m_store->read(key, pages.bytes().first(m_store->grid().recordBytes)));
        const ExpertView view = m_store->view(key, pages.bytes());
        m_records.emplace(++m_lastSlot, std::move(pages));
        return Pin(this, m_lastSlot, view);
    }

private:
    void release(std::uint32_t slot) override { m_records.erase(slot); }

    std::unique_ptr<const RecordStore> m_store;
    std::unordered_map<std::uint32_t, Pages> m_records;
    std::uint32_t m_lastSlot = 0;
};

// The weights of a model in memory, from a checkpoint or a container, without the engine above.
struct TestModel {
    ModelConfig config;
    std::optional<Arena> trunk;
    std::optional<ContainerFiles> files;
    std::optional<Codebooks> codebooks;
    std::optional<ExactWeights> exact;
    std::unordered_map<std::string, kernels::MatrixView> tensors;
    ModelWeights weights;
    std::unique_ptr<EmbeddingSource> embedding;
    std::unique_ptr<ExpertSource> experts;

    static Result<std::unique_ptr<TestModel>> fromCheckpoint(const std::filesystem::path& directory)
    {
        auto model = std::make_unique<TestModel>();
        WASTE_TRY(const auto files, CheckpointFiles::open(directory));
        WASTE_TRY(model->config, ModelConfig::parse(files->config(), ModelConfig::Origin::Checkpoint, "config.json"));
        WASTE_TRY(model->exact, ExactWeights::load(*files, model->config));
        model->experts = std::make_unique<ResidentExperts>(*model->exact);
        WASTE_TRY_STATUS(model->bind([&](std::string_view name) { return model->exact->find(name); }));
        return model;
    }

    static Result<std::unique_ptr<TestModel>> fromContainer(const std::filesystem::path& directory)
    {
        auto model = std::make_unique<TestModel>();
        WASTE_TRY(model->files, ContainerFiles::open(directory));
        const Manifest& manifest = model->files->manifest;
        model->config = manifest.config;
        WASTE_TRY(TrunkLoader loader, TrunkLoader::open(directory, DirectFile::Access::Direct));
        ArenaSize size;
        for (const TrunkEntry& entry : manifest.trunk)
            size.take<std::byte>(Trunk::residentBytes(entry));
        WASTE_TRY(model->trunk, Arena::create(size.bytes(), "the trunk"));
        for (const TrunkEntry& entry : manifest.trunk) {
            const auto target = model->trunk->take<std::byte>(Trunk::residentBytes(entry));
            model->tensors[entry.name] = loader.add(entry, target);
        }
        WASTE_TRY_STATUS(loader.run([](std::uint64_t) { return Status(); }));
        std::vector<std::string> warnings;
        WASTE_TRY(model->codebooks, Codebooks::load(directory, manifest, Verification::Full, warnings));
        WASTE_TRY(std::unique_ptr<const RecordStore> store,
            BankStore::open(directory, manifest, *model->codebooks, {.verification = Verification::Full}));
        model->experts = std::make_unique<PlainRecords>(std::move(store));
        WASTE_TRY_STATUS(model->bind([&](std::string_view name) -> std::optional<kernels::MatrixView> {
            const auto found = model->tensors.find(std::string(name));
            return found == model->tensors.end() ? std::nullopt : std::optional(found->second);
        }));
        return model;
    }

private:
    Status bind(const TensorLookup& lookup)
    {
        WASTE_TRY(weights, bindWeights(config, lookup));
        embedding = std::make_unique<ResidentEmbedding>(*lookup(embeddingName(config)));
        return {};
    }
};

// One sequence of one model, and everything that came out of it.
class ModelRunner {
public:
    struct Setup {
        const char* isa = nullptr; // the fastest
        std::uint32_t threadCount = 1;
        std::uint32_t chunkTokensMax = 64;
        std::uint32_t contextTokens = 512;
        ExpertSource* experts = nullptr; // in place of the model's own
        Arithmetic arithmetic = Arithmetic::Exact;
    };

    ModelRunner(TestModel& model, const Setup& setup)
        : m_model(model)
        , m_chunkTokensMax(setup.chunkTokensMax)
        , m_pool({.threadCount = setup.threadCount})
        , m_arena(makeArena(model.config, setup))
        , m_decoder({.config = model.config,
                        .weights = model.weights,
                        .embedding = *model.embedding,
                        .experts = setup.experts != nullptr ? setup.experts : model.experts.get(),
                        .kernels = **kernels::selectKernels(setup.isa),
                        .pool = m_pool,
                        .chunkTokensMax = setup.chunkTokensMax,
                        .arithmetic = setup.arithmetic},
              m_arena)
        , m_stateMemory(m_arena.take<float>(sequenceStateBytes(model.config, setup.contextTokens) / sizeof(float)))
        , m_chunk(ChunkInFlight::carve(m_arena, model.config, setup.chunkTokensMax))
        , m_state(SequenceState::bind(model.config, setup.contextTokens, m_stateMemory))
        , m_lastLogits(model.config.vocabularySize)
        , m_norms(model.config.layerCount)
        , m_experts(model.config.layerCount)
        , m_weights(model.config.layerCount)
    {
    }

    // Evaluates ids in chunks of the runner's size. `rows` replace embedding rows where not null.
    Status append(std::span<const TokenId> ids, std::span<const float* const> rows = {})
    {
        for (std::size_t first = 0; first < ids.size(); first += m_chunkTokensMax) {
            const std::size_t count = std::min<std::size_t>(m_chunkTokensMax, ids.size() - first);
            WASTE_TRY_STATUS(m_decoder.begin(
                m_chunk, m_state, ids.subspan(first, count), rows.empty() ? rows : rows.subspan(first, count)));
            WASTE_TRY_STATUS(finish());
        }
        return {};
    }

    // Takes the chunk in flight the rest of its way.
    Status finish(const CancelFlag* cancel = nullptr)
    {
        Decoder::RunOptions options;
        options.cancel = cancel;
        options.lastLogits = m_lastLogits;
        if (m_wantsAll) {
            options.logitsSink = [this](std::uint64_t, std::span<const float> logits) {
                m_allLogits.insert(m_allLogits.end(), logits.begin(), logits.end());
            };
            options.layerSink = [this](const LayerReport& report) { note(report); };
        }
        return m_decoder.run(m_chunk, m_state, options);
    }

    std::vector<TokenId> generateGreedily(std::size_t count)
    {
        std::vector<TokenId> ids;
        while (ids.size() < count) {
            ids.push_back(static_cast<TokenId>(
                std::max_element(m_lastLogits.begin(), m_lastLogits.end()) - m_lastLogits.begin()));
            if (!append({&ids.back(), 1}))
                break;
        }
        return ids;
    }

    void collectEverything() { m_wantsAll = true; }
    Decoder& decoder() { return m_decoder; }
    ChunkInFlight& chunk() { return m_chunk; }
    SequenceState& state() { return m_state; }
    std::span<const float> stateMemory() const { return m_stateMemory; }
    std::span<const float> lastLogits() const { return m_lastLogits; }
    const std::vector<float>& allLogits() const { return m_allLogits; } // [positions][vocabulary]
    const std::vector<double>& norms(std::size_t layer) const { return m_norms[layer]; } // [positions]
    const std::vector<std::uint16_t>& experts(std::size_t layer) const { return m_experts[layer]; } // [positions][k]
    const std::vector<float>& weights(std::size_t layer) const { return m_weights[layer]; }

private:
    static Arena makeArena(const ModelConfig& config, const Setup& setup)
    {
        ArenaSize size;
        ChunkInFlight::carve(size, config, setup.chunkTokensMax);
        const std::uint64_t bytes = size.bytes() + sequenceStateBytes(config, setup.contextTokens)
            + Decoder::scratchBytes(config, setup.chunkTokensMax, setup.threadCount) + 2 * kArenaAlignment;
        return std::move(*Arena::create(bytes, "a test"));
    }

    void note(const LayerReport& report)
    {
        m_norms[report.layer].insert(m_norms[report.layer].end(), report.norms.begin(), report.norms.end());
        m_experts[report.layer].insert(m_experts[report.layer].end(), report.experts.begin(), report.experts.end());
        m_weights[report.layer].insert(m_weights[report.layer].end(), report.weights.begin(), report.weights.end());
    }

    TestModel& m_model;
    std::uint32_t m_chunkTokensMax;
    ThreadPool m_pool;
    Arena m_arena;
    Decoder m_decoder;
    std::span<float> m_stateMemory;
    ChunkInFlight m_chunk;
    SequenceState m_state;
    bool m_wantsAll = false;
    std::vector<float> m_lastLogits;
    std::vector<float> m_allLogits;
    std::vector<std::vector<double>> m_norms;
    std::vector<std::vector<std::uint16_t>> m_experts;
    std::vector<std::vector<float>> m_weights;
};

} // namespace waste::test
