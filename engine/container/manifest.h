#pragma once

#include "container/format.h"
#include "container/model_config.h"
#include "kernels/weight_views.h"
#include "waste/result.h"

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace waste {

// A dense tensor and where it lies in trunk.bin.
struct TrunkEntry {
    std::string name; // full checkpoint name
    // Empty: a number this program does not know, legal as long as nobody needs the tensor; `layout` is
    // then empty as well.
    std::optional<kernels::WeightFormat> format;
    std::vector<std::uint64_t> shape; // 1 to 4 dimensions
    std::uint32_t group = 0; // 0 for F32
    std::uint64_t offset = 0;
    std::uint64_t scaleOffset = 0;
    std::optional<std::uint32_t> crc32; // of the payload, then the scales
    TrunkLayout layout;
};

// The expert bank of one MoE layer.
struct BankEntry {
    std::uint32_t layer = 0;
    std::string file; // a plain file name
    std::uint32_t expertCount = 0;
    std::uint64_t bytes = 0; // expertCount records; the file may be longer
    std::uint32_t codebookBase = 0; // at most 2^16 − 1, records hold 16 bits
};

// Where a container comes from; nothing here changes how it is read (spec: container 15, item 4).
struct DesktopMetadata {
    std::string converter;
    std::string sourceRepository;
    std::string sourceRevision;
    std::string recipe;
    std::optional<std::uint64_t> seed;
    std::string created; // ISO 8601
    // Relative Frobenius error of gate, up and down by layer.
    std::map<std::uint32_t, std::array<double, kExpertMatrixCount>> errors;
};

// manifest.json, validated as far as the text alone allows (spec: container 2 and 13): sizes inside their
// domains, every required tensor present in a usable shape and format, banks consistent with the record
// geometry. Whether the files are long enough is for ContainerFiles to say.
struct Manifest {
    ModelConfig config; // with the tensor prefix
    ExpertQuant expertQuant;
    ExpertGeometry geometry; // of every bank; empty without experts
    std::optional<std::uint32_t> codebooksCrc32; // of the whole file
    std::vector<BankEntry> banks; // one per MoE layer, ascending
    std::vector<TrunkEntry> trunk; // ascending by name
    DesktopMetadata desktop;

    static constexpr std::uint64_t kBytesMax = std::uint64_t{64} << 20;
    static constexpr std::uint32_t kDepthMax = 64;
    // Longest strings that every reader of the format takes.
    static constexpr std::size_t kTensorNameBytesMax = 127;
    static constexpr std::size_t kFileNameBytesMax = 63;
    static constexpr std::size_t kPrefixBytesMax = 63;

    // Errors: Corrupt, Unsupported; they name the member, tensor or layer.
    static Result<Manifest> parse(std::string_view text);

    [[nodiscard]] const TrunkEntry* find(std::string_view tensorName) const; // null: none
    [[nodiscard]] const BankEntry* bank(std::uint32_t layer) const; // null: not a MoE layer
};

// The other direction: what a writer states. `trunk` needs no layout and may come in any order.
struct ManifestContent {
    const nlohmann::json& config; // of composeConfig()
    std::string architecture; // ModelConfig::name()
    std::string tensorPrefix;
    ExpertQuant expertQuant;
    std::optional<std::uint32_t> codebooksCrc32;
    const std::vector<BankEntry>& banks;
    const std::vector<TrunkEntry>& trunk;
    DesktopMetadata desktop; // members that are empty are left out
};

// The text of manifest.json. It obeys the rules of readers with a plain parser as well: strings without
// escapes, a MoE layer as the first member of `layers` (spec: container 2.3).
std::string composeManifest(const ManifestContent& content);

// The manifest's `config` for a checkpoint's config.json (an object): the text model's configuration
// verbatim with the rest of a wrapper under `_outer`, `num_experts` under its one name, and the four
// booleans that some readers test by presence dropped where they are false (spec: container 2.2). Read it
// back with ModelConfig::Origin::Container.
nlohmann::json composeConfig(const nlohmann::json& checkpointConfig);

} // namespace waste
