#include "convert/source_reader.h"

#include "base/checked.h"
#include "checkpoint/tensor_names.h"
#include "platform/path_text.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <new>
#include <string>

namespace waste {
namespace {

constexpr std::uint64_t kSmallElementsMax = std::uint64_t{1} << 20; // 4 MiB as f32

// What a thread reads at a time: small enough for the last one not to be waited for long.
constexpr std::size_t kPieceElements = std::size_t{1} << 17;

} // namespace

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
            textFromPath(files.directory() / pathFromText(files.shardNames()[tensor.values.shard])) + ": tensor \""
                + tensor.name + "\" has values that are not finite numbers; download this file again"};
    return {};
}

Status readFinite(const CheckpointFiles& files, const CheckpointTensor& tensor, std::uint64_t first,
    std::span<float> target, ThreadPool& pool)
{
    std::vector<Status> pieces(ceilDivide(target.size(), kPieceElements));
    pool.parallelFor(
        static_cast<std::uint32_t>(pieces.size()), 1, [&](std::uint32_t begin, std::uint32_t end, std::uint32_t) {
            for (std::size_t piece = begin; piece < end; ++piece) {
                const std::size_t start = piece * kPieceElements;
                const std::size_t count = std::min(kPieceElements, target.size() - start);
                try {
                    pieces[piece] = readFinite(files, tensor, first + start, target.subspan(start, count));
                } catch (const std::bad_alloc&) { // no exception may leave a thread of the pool
                    pieces[piece] = Error{ErrorCode::OutOfMemory, "out_of_memory",
                        "there is not enough memory to read the weights to convert"};
                }
            }
        });
    const auto failed = std::ranges::find_if(pieces, [](const Status& status) { return !status; });
    return failed != pieces.end() ? *failed : Status();
}

Status checkSmallTensors(const CheckpointFiles& files, const ConversionPlan& plan, const ConversionProgress& progress)
{
    std::vector<float> values;
    for (const TrunkItem& item : plan.trunk) {
        WASTE_TRY_STATUS(progress.checkCancelled());
        if (item.source->elements() > kSmallElementsMax || !files.canRead(*item.source))
            continue;
        values.resize(item.source->elements());
        WASTE_TRY_STATUS(readFinite(files, *item.source, 0, values));
    }
    return {};
}

std::vector<const CheckpointTensor*> expertTensors(
    const CheckpointFiles& files, const ConversionPlan& plan, const BankEntry& bank)
{
    std::vector<const CheckpointTensor*> tensors;
    for (std::uint32_t expert = 0; expert < bank.expertCount; ++expert) {
        for (const ExpertMatrix matrix : kExpertMatrices) {
            tensors.push_back(files.find(expertTensorName(plan.config.tensorPrefix, {bank.layer, expert, matrix})));
            assert(tensors.back() != nullptr); // the plan has seen it
        }
    }
    return tensors;
}

bool canReadExperts(const CheckpointFiles& files, const ConversionPlan& plan, const BankEntry& bank)
{
    return std::ranges::all_of(
        expertTensors(files, plan, bank), [&files](const CheckpointTensor* tensor) { return files.canRead(*tensor); });
}

Error scaleOverflow(const CheckpointTensor& tensor)
{
    return {ErrorCode::Unsupported, "",
        "tensor \"" + tensor.name + "\" has values too large for the half-precision scales of a container"};
}

} // namespace waste
