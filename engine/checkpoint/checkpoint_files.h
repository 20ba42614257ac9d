#pragma once

#include "checkpoint/dequantize.h"
#include "waste/result.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace waste {

// A tensor of a published checkpoint. MXFP4 halves (`X.weight_packed`, `X.weight_scale`) appear as the one
// tensor `X.weight` with its logical shape.
struct CheckpointTensor {
    enum class Coding : std::uint8_t { Plain, Mxfp4 };
    // Where bytes lie: `shard` counts CheckpointFiles::shardNames().
    struct Piece {
        std::uint32_t shard = 0;
        std::uint64_t offsetBytes = 0;
        std::uint64_t bytes = 0;
    };

    std::string name;
    std::vector<std::uint64_t> shape; // as published; none: a scalar
    Coding coding = Coding::Plain;
    TensorType type = TensorType::F32; // of a plain tensor; U8 for MXFP4
    Piece values; // or the packed nibbles
    Piece scales; // of MXFP4

    [[nodiscard]] std::uint64_t elements() const;
    // Whether read() can decode it.
    [[nodiscard]] bool isReadable() const { return coding == Coding::Mxfp4 || isConvertibleToF32(type); }
};

// A published model directory: config.json and safetensors, with an index or as one file.
//
// open() reads config, index and the header of every shard, and checks them against each other; weights
// are read by position when asked for and never cached. Any thread may read; shards come and go only while
// nobody does.
// Errors name file and tensor: NotFound (no checkpoint here, a shard is missing), Io, Corrupt, Unsupported.
class CheckpointFiles {
public:
    // What is known of a shard without its weights: the text of its header, and how long the file is.
    struct ShardHeader {
        std::string json;
        std::uint64_t fileBytes = 0;
    };
    static Result<ShardHeader> readShardHeader(const std::filesystem::path& shard);

    static Result<std::unique_ptr<const CheckpointFiles>> open(const std::filesystem::path& directory);
    // Opens no shard at all, asks for their headers instead: of a checkpoint that is still being downloaded, or is
    // deleted as it is used up. Tensors can be read while their shards are open.
    using ShardHeaders = std::function<Result<ShardHeader>(const std::string& shard)>;
    static Result<std::unique_ptr<CheckpointFiles>> openHeaders(
        const std::filesystem::path& directory, const ShardHeaders& headers);
    // The names of the shards that the directory's index lists, ascending.
    static Result<std::vector<std::string>> listShards(const std::filesystem::path& directory);
    ~CheckpointFiles();
    CheckpointFiles(const CheckpointFiles&) = delete;
    CheckpointFiles& operator=(const CheckpointFiles&) = delete;

    // Whether a directory looks like a checkpoint: it has a config.json and an index or model.safetensors.
    static bool isCheckpoint(const std::filesystem::path& directory);

    [[nodiscard]] const std::filesystem::path& directory() const { return m_directory; }
    [[nodiscard]] const nlohmann::json& config() const { return *m_config; } // root of config.json, an object
    [[nodiscard]] std::span<const CheckpointTensor> tensors() const { return m_tensors; } // ascending by name
    [[nodiscard]] const CheckpointTensor* find(std::string_view name) const; // null: not there
    [[nodiscard]] std::vector<std::string> shardNames() const;
    // Errors of openShard(): NotFound, Io, Corrupt where its header is not the one that was given.
    [[nodiscard]] bool isShardOpen(std::uint32_t shard) const;
    Status openShard(std::uint32_t shard);
    void closeShard(std::uint32_t shard);
    [[nodiscard]] std::uint64_t shardBytes(std::uint32_t shard) const; // of the whole file
    // Whether every shard that holds a piece of the tensor is open.
    [[nodiscard]] bool canRead(const CheckpointTensor& tensor) const;
    // Oddities that harm nothing, as sentences.
    [[nodiscard]] std::span<const std::string> warnings() const { return m_warnings; }

    // Decodes target.size() elements of `tensor`, one of tensors(), from element `first` on (row-major) to
    // exact f32. The range is inside the tensor; in MXFP4 both of its ends are multiples of 32.
    // Errors: Io, Corrupt (a scale byte 255), Unsupported (not isReadable()).
    Status read(const CheckpointTensor& tensor, std::uint64_t first, std::span<float> target) const;

    // A small file beside the weights, or empty if it does not exist. Errors: Io, Corrupt (above the limit).
    [[nodiscard]] Result<std::optional<std::string>> readSideFile(std::string_view name, std::uint64_t bytesMax) const;

    // "tiktoken.model" or "tokenizer.model", whichever exists first; empty: neither.
    [[nodiscard]] std::string tokenizerFileName() const;

private:
    struct Shard;
    struct Content;
    explicit CheckpointFiles(Content content);

    Status readPlain(const CheckpointTensor& tensor, std::uint64_t first, std::span<float> target) const;
    Status readMxfp4(const CheckpointTensor& tensor, std::uint64_t first, std::span<float> target) const;
    Status readPiece(const CheckpointTensor& tensor, const CheckpointTensor::Piece& piece, std::uint64_t offsetBytes,
        std::span<std::byte> target) const;

    std::filesystem::path m_directory;
    std::unique_ptr<const nlohmann::json> m_config;
    std::vector<Shard> m_shards;
    std::vector<CheckpointTensor> m_tensors;
    std::vector<std::string> m_warnings;
};

} // namespace waste
