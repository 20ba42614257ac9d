#pragma once

#include "container/manifest.h"
#include "container/verification.h"
#include "kernels/weight_views.h"
#include "platform/direct_file.h"
#include "waste/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace waste {

// Reads dense tensors from trunk.bin into memory of the caller.
//
// A foreign trunk aligns nothing, not even its scales; the copy into the target restores what MatrixView
// promises. Entries come from the manifest of the same container, whose file sizes have been checked.
// Any thread may read. Errors: Io, Corrupt naming the tensor.
class Trunk {
public:
    static constexpr std::size_t kAlignment = 64;

    static Result<Trunk> open(const std::filesystem::path& directory);

    // Bytes of the target of load(), a multiple of kAlignment.
    static std::uint64_t residentBytes(const TrunkEntry& entry);
    // `target` is aligned to kAlignment, residentBytes() long, and outlives the view.
    Result<kernels::MatrixView> load(
        const TrunkEntry& entry, std::span<std::byte> target, Verification verification) const;

    // The check of Verification::Full alone, through a small buffer of an even size.
    Status verify(const TrunkEntry& entry, std::span<std::byte> block) const;

    // load() for a single row: how a quantised embedding table is used from disk.
    static std::uint64_t residentRowBytes(const TrunkEntry& entry);
    Result<kernels::MatrixView> loadRow(const TrunkEntry& entry, std::uint32_t row, std::span<std::byte> target) const;

private:
    explicit Trunk(DirectFile file);
    static kernels::MatrixView view(const TrunkEntry& entry, std::uint32_t rows, std::span<const std::byte> target);

    DirectFile m_file;
};

// Whether the embedding table stays on disk: it is quantised.
bool isEmbeddingOnDisk(const Manifest& manifest);

// What the text model keeps of the trunk in memory: the sum of residentBytes() over requiredTensors(),
// without an embedding table that stays on disk.
std::uint64_t residentTrunkBytes(const Manifest& manifest);

} // namespace waste
