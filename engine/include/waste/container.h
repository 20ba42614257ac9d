#pragma once

#include "waste/result.h"
#include "waste/types.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace waste {

namespace detail {
struct ModelFiles; // session/model_files.h: what the engine itself sees of an opened model
}

// Facts about a model that need no weights. Sizes in bytes.
struct ModelInfo {
    // A folder, on another drive perhaps, that banks of the container are links to.
    struct BankFolder {
        std::string path; // UTF-8
        std::uint32_t layers = 0;
        std::uint64_t bytes = 0;
    };

    enum class Format : std::uint8_t { Container, Checkpoint };
    Format format = Format::Container;
    std::string name; // directory name without ".waste"
    std::string architecture; // "kimi-k3", "kimi-linear"
    std::uint32_t layerCount = 0;
    std::uint32_t moeLayerCount = 0;
    std::uint32_t expertCount = 0; // per MoE layer, 0 = none
    std::uint32_t expertsPerToken = 0;
    std::uint32_t hiddenSize = 0;
    std::uint32_t vocabularySize = 0;
    std::uint64_t contextMax = 0; // as advertised by the model, 0 = not stated
    std::uint64_t parametersTotal = 0;
    std::uint64_t parametersActive = 0; // per token
    std::string quantization; // "experts VQ3R, trunk Q4G/Q8G/F32"
    std::uint64_t containerBytes = 0; // all files of the directory
    std::uint64_t expertRecordBytes = 0;
    std::vector<BankFolder> bankFolders; // of a container whose experts are spread; else empty
    bool hasTokenizer = false;
    std::string tokenizerSha256; // of the tokenizer file, hexadecimal; empty without one
    bool hasVision = false;
    TokenId endOfTextId = -1; // config.eos_token_id, −1 = not stated
    TokenId mediaPlaceholderId = -1; // stands for one row of a picture, −1 = none
    std::string created; // ISO 8601 or empty
    std::string source; // repository the weights came from, or empty
};

// An opened model directory: either a converted `.waste` container (spec: container format v0) or a
// published checkpoint (config.json and safetensors), whose exact weights are then used.
//
// open() reads and validates the small files only; nothing becomes resident. Immutable, any thread.
// Errors: NotFound, Io, Corrupt, Unsupported; each names the file and the place.
class Container {
public:
    static Result<std::shared_ptr<const Container>> open(const std::filesystem::path& directory);
    ~Container();
    Container(const Container&) = delete;
    Container& operator=(const Container&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const;
    [[nodiscard]] const ModelInfo& info() const;
    [[nodiscard]] const detail::ModelFiles& files() const; // for the engine itself

private:
    explicit Container(std::unique_ptr<detail::ModelFiles> files);
    std::unique_ptr<detail::ModelFiles> m_files;
};

} // namespace waste
