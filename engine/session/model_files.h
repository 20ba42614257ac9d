#pragma once

#include "checkpoint/checkpoint_files.h"
#include "container/container_files.h"
#include "container/model_config.h"
#include "platform/sha.h"
#include "waste/container.h"
#include "waste/result.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>

namespace waste::detail {

// An opened model directory as the engine sees it: a converted container or a published checkpoint.
struct ModelFiles {
    using Checkpoint = std::unique_ptr<const CheckpointFiles>;

    std::filesystem::path directory;
    std::variant<ContainerFiles, Checkpoint> files;
    ModelConfig config;
    // The part of the manifest that decides numbers, as compact JSON with sorted keys: `config`, `expert_quant`
    // and `layers` without file names; of a checkpoint the text of config.json. For the fingerprint.
    std::string decisiveText;
    std::optional<Sha256Digest> tokenizerDigest; // of the tokenizer file; empty without one
    ModelInfo info;

    [[nodiscard]] const ContainerFiles* container() const { return std::get_if<ContainerFiles>(&files); }
    [[nodiscard]] const CheckpointFiles* checkpoint() const
    {
        const Checkpoint* checkpoint = std::get_if<Checkpoint>(&files);
        return checkpoint != nullptr ? checkpoint->get() : nullptr;
    }
    // Oddities that harm nothing, as sentences.
    [[nodiscard]] std::span<const std::string> warnings() const;

    // Errors: NotFound (neither of the two), Io, Corrupt, Unsupported.
    static Result<std::unique_ptr<ModelFiles>> open(const std::filesystem::path& directory);
};

} // namespace waste::detail
