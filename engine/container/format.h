#pragma once

#include "kernels/weight_views.h"
#include "waste/result.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace waste {

// Layouts of the `.waste` container, format version 0 (spec: container 3 to 7), for reader and writer alike.
// Nothing here reads or writes files.

inline constexpr std::int64_t kFormatVersion = 0;
inline constexpr std::string_view kManifestFile = "manifest.json";
inline constexpr std::string_view kTrunkFile = "trunk.bin";
inline constexpr std::string_view kCodebooksFile = "codebooks.bin";
std::string bankFileName(std::uint32_t layer); // experts-L{layer}.bin

// A record is whole pages, so that one aligned direct read fetches an expert. Our writer starts every
// payload and every scale block of the trunk on a page as well.
inline constexpr std::uint64_t kPageBytes = 4096;
inline constexpr std::uint64_t kRecordHeaderBytes = 48;
inline constexpr std::uint64_t kCodebookHeaderBytes = 16;
inline constexpr std::uint32_t kIndexBlockRows = 64;
// Rows of a codebook in memory; those from `entries` on are zero, so any index byte is safe to look up.
inline constexpr std::uint32_t kCodebookTableRows = 256;

// Matrices of an expert in the order of its record.
inline constexpr std::size_t kExpertMatrixCount = 3;
inline constexpr std::array<std::string_view, kExpertMatrixCount> kExpertMatrixNames = {"gate", "up", "down"};

// `expert_quant` of the manifest.
struct ExpertQuant {
    std::uint8_t stages = 3; // 1..8
    std::uint8_t vecDim = 8; // 1..64
    std::uint16_t entries = 256; // 1..256
    std::uint8_t indexBlock = kIndexBlockRows; // or 0: row-major
    std::uint8_t indexBits = 8; // or 6: four stages of 64 entries in three bytes

    friend bool operator==(const ExpertQuant&, const ExpertQuant&) = default;

    [[nodiscard]] constexpr std::uint32_t bytesPerVector() const { return indexBits == 6 ? 3U : stages; }
    [[nodiscard]] constexpr std::uint32_t codebooksPerLayer() const
    {
        return std::uint32_t{kExpertMatrixCount} * stages;
    }
    [[nodiscard]] constexpr std::uint64_t codebookRecordBytes() const
    {
        return kCodebookHeaderBytes + std::uint64_t{entries} * vecDim * sizeof(std::uint16_t);
    }
    [[nodiscard]] double bitsPerWeight() const { return static_cast<double>(stages) * indexBits / vecDim; }
    [[nodiscard]] std::string_view name() const; // "VQ3R", "VQ2R", "VQ4P"
    // The `fmt` byte that a writer puts into record headers.
    [[nodiscard]] std::uint8_t recordFormat() const { return indexBits == 6 ? 8 : 4; }
};

// Where everything lies in a record; the same for all experts of a model.
struct ExpertGeometry {
    struct Matrix {
        std::uint32_t rows = 0;
        std::uint32_t columns = 0;
        std::uint64_t indexOffset = 0; // from the start of the record
        std::uint64_t indexBytes = 0;
        std::uint64_t scaleOffset = 0; // f16 [rows]
    };
    std::array<Matrix, kExpertMatrixCount> matrices; // gate, up [width, input], down [input, width]
    std::uint64_t scalesOffset = 0; // chan_corr_off
    std::uint64_t payloadEnd = 0; // the checksum covers [kRecordHeaderBytes, payloadEnd)
    std::uint64_t strideBytes = 0; // of a record, a multiple of kPageBytes below 2^32

    // `expertWidth` and `inputWidth` are at most 2^20 (a validated ModelConfig's expertWidth and
    // expertInputWidth()). Errors: Corrupt when vec_dim does not divide them or a record would reach 4 GiB.
    static Result<ExpertGeometry> compute(
        std::uint32_t expertWidth, std::uint32_t inputWidth, const ExpertQuant& quant, std::string_view file);
};

// Sizes of one trunk tensor. `columns` is the last dimension, `rows` the product of the others.
struct TrunkLayout {
    std::uint32_t rows = 0;
    std::uint32_t columns = 0;
    std::uint32_t groupsPerRow = 0; // 0 for F32
    std::uint64_t rowBytes = 0;
    std::uint64_t payloadBytes = 0;
    std::uint64_t scaleBytes = 0; // f16 [rows][groupsPerRow]

    [[nodiscard]] std::uint64_t scaleRowBytes() const { return std::uint64_t{groupsPerRow} * sizeof(std::uint16_t); }
    [[nodiscard]] std::uint64_t bytes() const { return payloadBytes + scaleBytes; } // `trunk[].bytes`

    // Dimensions are in 1..2^26 and at least one; `group` ≥ 1, ignored for F32. Empty when rows or bytes do
    // not fit their types.
    static std::optional<TrunkLayout> compute(
        kernels::WeightFormat format, std::span<const std::uint64_t> shape, std::uint32_t group);
};

std::string_view formatName(kernels::WeightFormat format); // "F32", "Q8G", "Q4G", "Q3G"

// Header of a record of codebooks.bin. The id is stored modulo 2^16.
struct CodebookHeader {
    static constexpr std::uint32_t kMagic = 0x4B424357; // "WCBK"
    std::uint32_t magic = kMagic;
    std::uint16_t id = 0;
    std::uint8_t format = 4;
    std::uint8_t vecDim = 8;
    std::uint32_t entries = 256;

    void encode(std::span<std::byte, kCodebookHeaderBytes> target) const;
    static CodebookHeader decode(std::span<const std::byte, kCodebookHeaderBytes> bytes);
};

} // namespace waste
