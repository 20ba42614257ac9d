#pragma once

#include "container/integrity.h"
#include "container/manifest.h"
#include "container/trunk.h"
#include "waste/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace waste {

// The digest of trunk.bin, of the reads that check its tensors: with these in the order of the file, only what lies
// between them has to be read besides, and no byte twice.
class TrunkDigest {
public:
    // The tensors whose format is known. `isDisjoint`: in this order no byte comes before one that came already, which
    // foreign containers do not promise.
    struct Order {
        std::vector<const TrunkEntry*> entries;
        bool isDisjoint = true;
    };
    static Order orderOf(const Manifest& manifest);

    TrunkDigest(const Trunk& trunk, FileDigester digester);
    // The next bytes of a tensor. Error: Io, of what lies before them.
    Status add(std::uint64_t offsetBytes, std::span<const std::byte> bytes);
    // With the rest of the file.
    Result<FileDigester> finish();

private:
    Status readUpTo(std::uint64_t offsetBytes);

    const Trunk& m_trunk;
    FileDigester m_digester;
    std::vector<std::byte> m_block;
    std::uint64_t m_doneBytes = 0;
};

} // namespace waste
