#pragma once

#include "container/manifest.h"
#include "kernels/weight_views.h"
#include "platform/direct_file.h"
#include "waste/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

namespace waste {

// Reads tensors of trunk.bin into memory of the caller, all together: large blocks in the order of the file, several
// under way at a time, so that the drive works while bytes that have come are checked.
//
// A block is read past the page cache and copied from there, as a direct read reaches neither a foreign tensor, which
// starts at any byte, nor a target that is aligned for vectors only. Where a direct read was asked for and the file
// system refuses it, the system is told to forget what it reads through its cache: of tens of gigabytes nothing may be
// there twice (spec: streaming 2). Who asks for the cache keeps it, and opens faster the next time.
//
// One thread calls; the others are its own, and end with run().
class TrunkLoader {
public:
    static constexpr std::size_t kBlockBytes = 4 << 20;
    static constexpr std::uint32_t kReadsInFlight = 4; // saturate every drive that was measured, as diskbench does

    // Errors: those of openPart().
    static Result<TrunkLoader> open(const std::filesystem::path& directory, DirectFile::Access access);

    // `target` is aligned to Trunk::kAlignment and Trunk::residentBytes() long. The view is of what run() will bring.
    // Entries come from the manifest of the same container, whose file sizes have been checked; they and the targets
    // stay until then.
    kernels::MatrixView add(const TrunkEntry& entry, std::span<std::byte> target);

    // Loads what was added and looks at its checksums. `advance` hears in the calling thread how many bytes have come
    // so far, and can end it all. Errors: of several the one that lies first in the file; Io, Corrupt naming the
    // tensor, OutOfMemory.
    Status run(const std::function<Status(std::uint64_t bytes)>& advance);

    struct Tensor {
        const TrunkEntry* entry = nullptr;
        std::span<std::byte> target;
        std::uint32_t crc32 = 0; // of payload and scales, once run() has brought them
    };
    [[nodiscard]] std::span<const Tensor> tensors() const { return m_tensors; } // as they were added

private:
    TrunkLoader(DirectFile file, bool keepsCache);

    DirectFile m_file;
    bool m_keepsCache;
    std::vector<Tensor> m_tensors;
};

} // namespace waste
