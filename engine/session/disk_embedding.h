#pragma once

#include "container/trunk.h"
#include "kernels/kernel_table.h"
#include "layers/embedding.h"
#include "platform/pages.h"
#include "waste/result.h"

namespace waste {

// Rows of a quantised embedding table that stays on disk (spec: streaming 2): on K3 7 KiB are read a token
// in place of 1.2 GiB kept.
class DiskEmbedding final : public EmbeddingSource {
public:
    // `entry` and `kernels` outlive it. Errors: OutOfMemory.
    static Result<std::unique_ptr<DiskEmbedding>> create(
        Trunk trunk, const TrunkEntry& entry, const kernels::KernelTable& kernels);

    Status read(TokenId id, std::span<float> row) override;

private:
    DiskEmbedding(Trunk trunk, const TrunkEntry& entry, const kernels::KernelTable& kernels, Pages buffer);

    Trunk m_trunk;
    const TrunkEntry& m_entry;
    const kernels::KernelTable& m_kernels;
    Pages m_buffer; // one stored row
};

} // namespace waste
