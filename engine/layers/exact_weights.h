#pragma once

#include "checkpoint/checkpoint_files.h"
#include "container/model_config.h"
#include "experts/sequential_experts.h"
#include "kernels/weight_views.h"
#include "memory/arena.h"
#include "waste/result.h"
#include "waste/types.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace waste {

// All weights of a published checkpoint's text model in memory as exact f32: the way to run a model without
// converting it, and the yardstick for every quantiser.
class ExactWeights {
public:
    // What load() keeps in memory.
    static std::uint64_t residentBytes(const ModelConfig& config);

    // Progress stage "weights", in bytes. Errors: Io, Corrupt, OutOfMemory, Cancelled; tensors of another
    // shape than the configuration says are Corrupt.
    static Result<ExactWeights> load(const CheckpointFiles& files, const ModelConfig& config,
        const ProgressSink& progress = {}, const CancelFlag* cancel = nullptr);

    // A dense tensor by its full name, the embedding included.
    [[nodiscard]] std::optional<kernels::MatrixView> find(std::string_view name) const;
    [[nodiscard]] const DenseExpert& expert(ExpertKey key) const;

private:
    class Loader;
    ExactWeights(Arena arena, const ModelConfig& config);

    Arena m_arena;
    std::uint32_t m_expertCount = 0; // of one layer
    std::unordered_map<std::string, kernels::MatrixView> m_tensors;
    std::vector<DenseExpert> m_experts; // [layers][experts]; empty views for dense layers
};

// The experts of ExactWeights: always in memory, nothing to wait for.
class ResidentExperts final : public SequentialExperts {
public:
    explicit ResidentExperts(const ExactWeights& weights)
        : m_weights(weights)
    {
    }
    Result<Pin> acquire(ExpertKey key) override;

private:
    void release(std::uint32_t slot) override;
    const ExactWeights& m_weights; // outlives this
};

} // namespace waste
