#pragma once

#include "container/codebooks.h"
#include "experts/expert_cache.h"
#include "kernels/kernel_table.h"
#include "layers/embedding.h"
#include "layers/exact_weights.h"
#include "layers/model_weights.h"
#include "memory/arena.h"
#include "platform/sha.h"
#include "session/model_files.h"
#include "waste/engine.h"
#include "waste/memory_plan.h"
#include "waste/result.h"

#include <filesystem>
#include <memory>
#include <optional>

namespace waste {

// A model's weights where the decoder finds them. Of a container the trunk and the codebooks are resident
// and the experts stream through the cache; of a checkpoint everything is resident as exact f32.
struct LoadedModel {
    struct Request {
        const detail::ModelFiles& files; // outlives the loaded model
        const MemoryPlan& plan;
        const EngineOptions& options;
        const kernels::KernelTable& kernels;
        const ProgressSink& progress;
        const CancelFlag* cancel = nullptr;
    };
    // Progress in bytes: "trunk" and "codebooks" of a container, "weights" of a checkpoint. Errors: Io,
    // Corrupt, OutOfMemory, Cancelled.
    static Result<std::unique_ptr<LoadedModel>> load(const Request& request);

    // What the rest points into comes first, so that it goes last.
    std::optional<Arena> trunk;
    std::optional<Codebooks> codebooks;
    std::optional<ExactWeights> exact;

    ModelWeights weights;
    std::unique_ptr<EmbeddingSource> embedding;
    std::unique_ptr<ExpertSource> experts; // null for a model without experts
    ExpertCache* cache = nullptr; // `experts`, if it is one
    std::filesystem::path usageFile; // where the cache's hot list is kept
    bool usageFileIsForeign = false; // it was named, and is something else: nobody's to replace
    Sha256Digest fingerprint{};
};

} // namespace waste
