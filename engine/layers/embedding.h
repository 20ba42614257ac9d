#pragma once

#include "kernels/weight_views.h"
#include "waste/result.h"
#include "waste/types.h"

#include <span>

namespace waste {

// Rows of the embedding table. An interface, because a quantised table stays on disk: a token needs one
// row of it. Used by one thread at a time.
class EmbeddingSource {
public:
    virtual ~EmbeddingSource() = default;
    // Fills row with the row of a token inside the vocabulary. Errors: Io.
    virtual Status read(TokenId id, std::span<float> row) = 0;
};

// A table that is in memory.
class ResidentEmbedding final : public EmbeddingSource {
public:
    explicit ResidentEmbedding(const kernels::MatrixView& table)
        : m_table(table)
    {
    }
    Status read(TokenId id, std::span<float> row) override;

private:
    kernels::MatrixView m_table;
};

} // namespace waste
