#pragma once

#include "container/format.h"
#include "convert/squared_error.h"
#include "convert/stop_check.h"
#include "convert/vq_codebooks.h"
#include "convert/vq_recipe.h"
#include "kernels/thread_pool.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace waste {

// Encodes one expert matrix [matrix.rows][matrix.columns] into its place in a record: indices at
// matrix.indexOffset, one f16 scale a row at matrix.scaleOffset. `record` is a zeroed record; rows beyond
// the matrix in its last block stay zero.
//
// A row is normalised and codes for its vectors are searched with this width; the row's scale is then the one that fits
// the chosen entries best, ⟨w, r⟩ / ⟨r, r⟩. Returns the error of what a reader will decode, up to that reader's
// rounding. Rows are independent: any number of threads writes the same bytes. The error is not finite where a weight
// was not or where a scale does not fit f16. `stopped` is asked before every row.
SquaredError encodeVqMatrix(std::span<const float> values, const ExpertGeometry::Matrix& matrix,
    const ExpertQuant& quant, const VqCodebooks& codebooks, kernels::BeamWidth width, std::span<std::byte> record,
    ThreadPool& pool, const StopCheck& stopped = {});

} // namespace waste
