#include "convert/source_reader.h"

#include <bit>
#include <string>

namespace waste {

Status readFinite(
    const CheckpointFiles& files, const CheckpointTensor& tensor, std::uint64_t first, std::span<float> target)
{
    WASTE_TRY_STATUS(files.read(tensor, first, target));
    // All exponent bits set: infinite or not a number. Counted without a branch, the compiler makes vectors of it.
    std::uint32_t badCount = 0;
    for (const float value : target)
        badCount += (std::bit_cast<std::uint32_t>(value) & 0x7F800000U) == 0x7F800000U ? 1U : 0U;
    if (badCount > 0)
        return Error{ErrorCode::Corrupt, "",
            "tensor \"" + tensor.name + "\" has values that are not finite numbers; the checkpoint may be damaged"};
    return {};
}

Error scaleOverflow(const CheckpointTensor& tensor)
{
    return {ErrorCode::Unsupported, "",
        "tensor \"" + tensor.name + "\" has values too large for the half-precision scales of a container"};
}

} // namespace waste
