#pragma once

#include "container/integrity.h"
#include "container/manifest.h"
#include "container/tensor_check.h"
#include "platform/direct_file.h"
#include "waste/result.h"
#include "waste/verifier.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace waste {

// The tensors of trunk.bin whose format is known, in the order of the file.
struct TrunkOrder {
    explicit TrunkOrder(const Manifest& manifest);

    std::vector<const TrunkEntry*> entries;
    std::uint64_t endBytes = 0; // of the last tensor
    // Whether one read of the file can check them all: no two share a byte, and scales follow their payload at even
    // places, which lets no block of a read end inside of one. Foreign containers promise none of it.
    bool isSequential = true;
};

// Reads trunk.bin from its beginning to its end, once: every block goes to the check of each tensor that it touches
// and to the digest of the file. `file` should be direct: after a copy, what the system remembers of a file says
// nothing of what the drive holds.
//
// What cannot be read is told with its place; of the tensors that it touches nothing is said, and the pass goes on.
class TrunkPass {
public:
    static constexpr std::size_t kBlockBytes = 4 << 20;

    // `order` is sequential. `tell` hears of every damage.
    TrunkPass(const TrunkOrder& order, std::optional<FileDigester> digester, std::function<void(const Damage&)> tell);

    // `advance` hears of the bytes of each block before it is read, and can end the pass; blocks are a multiple of
    // kDirectIoAlignment.
    Status run(const DirectFile& file, const std::function<Status(std::uint64_t bytes)>& advance,
        std::size_t blockBytes = kBlockBytes);

    // The digester with the whole file. Empty: damage was told, or nobody gave one.
    [[nodiscard]] std::optional<FileDigester> takeDigester() { return std::move(m_digester); }

private:
    struct Block {
        std::uint64_t offset = 0;
        std::uint64_t bytes = 0;
        std::span<const std::byte> content; // empty: it could not be read
    };
    void checkTensors(const Block& block);
    void tell(const Damage& damage);

    const TrunkOrder& m_order;
    std::optional<FileDigester> m_digester;
    const std::function<void(const Damage&)> m_tell;
    std::size_t m_next = 0; // the first entry that has not ended
    std::optional<TensorCheck> m_check; // of that entry, once it has begun and as far as it could be read
};

} // namespace waste
