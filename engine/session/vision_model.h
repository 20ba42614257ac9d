#pragma once

#include "kernels/kernel_table.h"
#include "kernels/thread_pool.h"
#include "memory/arena.h"
#include "platform/sha.h"
#include "session/model_files.h"
#include "vision/vision_config.h"
#include "vision/vision_weights.h"
#include "waste/picture.h"
#include "waste/result.h"
#include "waste/types.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace waste {

// The vision tower of one model, resident while it exists. One thread at a time.
class VisionModel {
public:
    // Shapes and preparation, from vision.json or a checkpoint's configuration. Errors: Unsupported (no
    // tower, or one of another kind), Io, Corrupt.
    static Result<VisionConfig> describe(const detail::ModelFiles& files);

    // What the plan adds for it: weights, a decoded picture, the tower's buffers, rows that wait for their
    // prompt (spec: streaming 7.1). Errors as describe().
    static Result<std::uint64_t> plannedBytes(const detail::ModelFiles& files, std::uint32_t threadCount);

    // SHA-256, hexadecimal, over what decides the rows of a picture beside the picture itself. Empty: a tensor of the
    // tower has no checksum, so another tower could look like this one.
    static std::string fingerprint(const detail::ModelFiles& files, const Sha256Digest& model);

    struct Parts { // all outlive the model
        const detail::ModelFiles& files;
        const kernels::KernelTable& kernels;
        ThreadPool& pool;
        bool directIo = true;
    };
    // Progress "tower" counts bytes. Errors: as describe(), OutOfMemory, Corrupt naming a tensor, Cancelled.
    static Result<std::unique_ptr<VisionModel>> load(
        const Parts& parts, const ProgressSink& progress, const CancelFlag* cancel);

    // A picture file → [positions][text hidden size]. Progress "vision" counts the tower's blocks.
    // Errors: Io with reason invalid_image, Cancelled, OutOfMemory.
    Result<std::vector<float>> encode(std::span<const std::byte> file, std::string_view name,
        const ProgressSink& progress, const CancelFlag* cancel, PictureDetail detail) const;

private:
    VisionModel(const Parts& parts, const VisionConfig& config, Arena arena);
    using Tensors = std::unordered_map<std::string, kernels::MatrixView>;
    using Advance = std::function<Status(std::uint64_t bytes)>;
    Status loadWeights(const ProgressSink& progress, const CancelFlag* cancel);
    Result<Tensors> loadFromContainer(const ContainerFiles& container, const Advance& advance);
    Result<Tensors> loadFromCheckpoint(const CheckpointFiles& checkpoint, const Advance& advance);

    Parts m_parts;
    VisionConfig m_config;
    Arena m_arena; // what m_weights points into
    VisionWeights m_weights;
};

} // namespace waste
