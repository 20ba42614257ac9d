#pragma once

#include "container/manifest.h"
#include "kernels/weight_views.h"
#include "platform/direct_file.h"
#include "waste/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace waste {

// How dense tensors of trunk.bin lie in memory, and those of them that are not loaded as a whole (TrunkLoader does
// that): single rows, and what is only checked.
//
// A foreign trunk aligns nothing, not even its scales; the copy into memory restores what MatrixView promises.
// Entries come from the manifest of the same container, whose file sizes have been checked. Any thread may read.
// Errors: Io, Corrupt naming the tensor.
class Trunk {
public:
    static constexpr std::size_t kAlignment = 64;

    static Result<Trunk> open(const std::filesystem::path& directory);

    // What a tensor takes in memory, a multiple of kAlignment: its payload, and its scales from an aligned place on.
    static std::uint64_t residentBytes(const TrunkEntry& entry);
    static std::span<std::byte> payloadOf(const TrunkEntry& entry, std::span<std::byte> resident);
    static std::span<std::byte> scalesOf(const TrunkEntry& entry, std::span<std::byte> resident);
    static kernels::MatrixView view(const TrunkEntry& entry, std::span<const std::byte> resident);

    // The check of Verification::Full alone, through a small buffer of an even size.
    Status verify(const TrunkEntry& entry, std::span<std::byte> block) const;

    // A single row: how a quantised embedding table is used from disk.
    static std::uint64_t residentRowBytes(const TrunkEntry& entry);
    Result<kernels::MatrixView> loadRow(const TrunkEntry& entry, std::uint32_t row, std::span<std::byte> target) const;

private:
    explicit Trunk(DirectFile file);
    static kernels::MatrixView viewRows(
        const TrunkEntry& entry, std::uint32_t rows, std::span<const std::byte> resident);

    DirectFile m_file;
};

// Whether the embedding table stays on disk: it is quantised.
bool isEmbeddingOnDisk(const Manifest& manifest);

// What the text model keeps of the trunk in memory: the sum of residentBytes() over requiredTensors(),
// without an embedding table that stays on disk.
std::uint64_t residentTrunkBytes(const Manifest& manifest);

} // namespace waste
