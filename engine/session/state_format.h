#pragma once

#include "waste/result.h"
#include "waste/types.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

// The bytes of a state file: everything a conversation needs to continue, and nothing else (spec: model 9.1).
// A header of 4,096 bytes, then sections, each at a multiple of 4,096 with zeros between.
namespace waste::state {

inline constexpr std::size_t kHeaderBytes = 4096;
inline constexpr std::uint64_t kAlignment = 4096;
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::uint32_t kSectionsMax = 64;
inline constexpr std::uint64_t kMetadataBytesMax = 64U << 20U; // a JSON text larger than this is not ours

using Digest = std::array<std::byte, 32>; // SHA-256

enum class KernelClass : std::uint32_t { Exact = 0, Reduced = 1 };

// The sizes that the sections follow from. Zero layers of a kind: its sizes are zero too.
struct Shape {
    std::uint32_t kdaLayerCount = 0;
    std::uint32_t kdaHeadCount = 0; // H
    std::uint32_t kdaHeadDim = 0; // D
    std::uint32_t convolutionKernel = 0; // KS
    std::uint32_t mlaLayerCount = 0;
    std::uint32_t kvLoraRank = 0; // kl
    std::uint32_t ropeDim = 0; // r
    std::uint32_t vocabularySize = 0;
    friend bool operator==(const Shape&, const Shape&) = default;
};

// What must agree between a state and the engine that continues it.
struct Identity {
    Digest model{}; // fingerprint of model 9.1
    Digest tokenizer{}; // of the tokenizer file, zero without one
    KernelClass kernels = KernelClass::Exact;
    Shape shape;
};

enum class SectionKind : std::uint32_t {
    Ids = 1, // i32 [position]
    Recurrent = 2, // f32, KDA layers ascending: [H][D][D], key channel first
    Windows = 3, // f32, the same layers: [q, k, v][C][KS − 1], oldest first
    LatentRows = 4, // f32, MLA layers ascending: [position][kl + r]
    Metadata = 5, // JSON
    Logits = 6, // f32 [vocabulary], optional
    PictureRows = 7, // optional, not read
};

struct Section {
    static constexpr std::uint32_t kMayBeSkipped = 1; // flag: a reader that does not know the kind goes on

    SectionKind kind{};
    std::uint32_t flags = 0;
    std::uint64_t offsetBytes = 0;
    std::uint64_t bytes = 0;
    std::uint32_t checksum = 0; // CRC-32
};

struct Header {
    std::uint64_t fileBytes = 0;
    std::uint64_t position = 0; // tokens evaluated
    Identity identity;
    std::uint32_t contextTokens = 0; // of the writer, informative
    TokenId pendingToken = -1; // sampled and not yet evaluated, −1: none
    std::vector<Section> sections; // at most kSectionsMax, in any order

    [[nodiscard]] const Section* find(SectionKind kind) const;
};

// Size of a section with a size of its own; nullopt for Metadata and kinds without one, and on overflow.
std::optional<std::uint64_t> expectedBytes(SectionKind kind, const Shape& shape, std::uint64_t position);

std::array<std::byte, kHeaderBytes> encodeHeader(const Header& header);

// The fields as they stand there, once magic, version and checksum are right; sections are not checked yet.
// `file` names the file in messages. Errors: Unsupported (a later version), Corrupt with reason "damaged".
Result<Header> decodeHeader(std::span<const std::byte, kHeaderBytes> bytes, std::string_view file);

// Whether a state with this identity may be continued by `engine`. Errors: Corrupt with reason
// "other_model" or "other_kernels".
Status checkIdentity(const Identity& stored, const Identity& engine, std::string_view file);

// The length of the file, and the place and size of every section. Errors: Corrupt with reason "damaged".
Status checkLayout(const Header& header, std::uint64_t fileBytes, std::string_view file);

} // namespace waste::state
