#include "vision/vision_tower.h"

#include "kernels/panel_product.h"
#include "vision/patch_attention.h"
#include "vision/vision_math.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace waste {

struct VisionTower::Buffers {
    std::span<float> x; // [patches][Dv], the residual stream; merged rows [positions][4Dv] lie in it in the end
    std::span<float> normalised; // [patches][Dv]
    std::span<float> qkv; // [patches][3Q]
    std::span<float> attended; // [patches][Q]
    std::span<float> mlp; // [patches][Fv]
    std::span<float> merged; // [positions][4Dv]
    std::span<float> panels; // [threads][kernels::kPanelScratchFloats]
    PatchAttention attention;

    template<typename A>
    static Buffers carve(A& arena, const VisionConfig& config, std::uint32_t patchCount, std::uint32_t gridColumns,
        std::uint32_t threadCount)
    {
        const std::size_t patches = patchCount;
        Buffers buffers;
        buffers.x = arena.template take<float>(patches * config.hiddenSize);
        buffers.normalised = arena.template take<float>(patches * config.hiddenSize);
        buffers.qkv = arena.template take<float>(patches * 3 * config.qkvSize);
        buffers.attended = arena.template take<float>(patches * config.qkvSize);
        buffers.mlp = arena.template take<float>(patches * config.mlpWidth);
        buffers.merged = arena.template take<float>(patches * config.hiddenSize);
        buffers.panels = arena.template take<float>(threadCount * kernels::kPanelScratchFloats);
        buffers.attention =
            PatchAttention::carve(arena, {patchCount, gridColumns, config.headCount, config.headDim()}, threadCount);
        return buffers;
    }
};

std::uint64_t VisionTower::scratchBytes(const VisionConfig& config, std::uint32_t patchCount, std::uint32_t threadCount)
{
    ArenaSize size;
    Buffers::carve(size, config, patchCount, 1, threadCount);
    return size.bytes();
}

std::uint64_t VisionTower::multiplyAdds(const VisionConfig& config, std::uint32_t patchCount)
{
    const std::uint64_t patches = patchCount;
    const std::uint64_t hidden = config.hiddenSize;
    const std::uint64_t matrices = 4 * hidden * config.qkvSize + 2 * hidden * config.mlpWidth;
    const std::uint64_t attention = 2 * patches * config.qkvSize;
    const std::uint64_t merged = config.mergedSize();
    return patches * (VisionConfig::kPatchFloats * hidden + config.layerCount * (matrices + attention))
        + patches / 4 * (merged * merged + merged * config.textHiddenSize);
}

Result<std::vector<float>> VisionTower::encode(
    std::span<const float> patches, const ImagePlan& plan, const ProgressSink& progress, const CancelFlag* cancel) const
{
    const VisionConfig& config = m_parts.config;
    const std::uint32_t threads = m_parts.pool.threadCount();
    WASTE_TRY(Arena arena, Arena::create(scratchBytes(config, plan.patchCount(), threads), "the vision tower"));
    const Buffers buffers = Buffers::carve(arena, config, plan.patchCount(), plan.gridColumns, threads);

    embed(patches, plan, buffers);
    const PatchRotation rotation(config.headDim(), plan.gridRows, plan.gridColumns);
    std::uint64_t blocksDone = 0;
    for (const VisionWeights::Block& block : m_parts.weights.blocks) {
        if (cancel != nullptr && cancel->isCancelled())
            return Error{ErrorCode::Cancelled, "", "reading the picture was cancelled"};
        attend(block, rotation, buffers);
        feedForward(block, buffers);
        if (progress)
            progress({"vision", ++blocksDone, config.layerCount});
    }
    return project(plan, buffers);
}

void VisionTower::embed(std::span<const float> patches, const ImagePlan& plan, const Buffers& buffers) const
{
    const VisionConfig& config = m_parts.config;
    const kernels::MatrixView& stored = m_parts.weights.positions;
    std::vector<float> grid(std::size_t{stored.rows} * config.hiddenSize);
    for (std::uint32_t row = 0; row < stored.rows; ++row)
        m_parts.kernels.unpackRow(stored, row, 0, stored.columns, grid.data() + std::size_t{row} * stored.columns);
    const std::vector<float> positions = resizeGrid(
        grid, config.hiddenSize, config.positionRows, config.positionColumns, plan.gridRows, plan.gridColumns);
    std::copy(positions.begin(), positions.end(), buffers.x.begin());

    kernels::MatrixView kernel;
    kernel.rows = config.hiddenSize;
    kernel.columns = VisionConfig::kPatchFloats;
    kernel.rowBytes = std::uint64_t{kernel.columns} * sizeof(float);
    kernel.payload = reinterpret_cast<const std::byte*>(m_parts.weights.patchKernel.data());
    multiply(kernel, patches, buffers.x, kernels::Sum::Added, buffers);
}

void VisionTower::attend(const VisionWeights::Block& block, const PatchRotation& rotation, const Buffers& buffers) const
{
    const VisionConfig& config = m_parts.config;
    normalise(buffers.x, block.attentionNorm, config.normEpsilon, buffers.normalised, config.hiddenSize);
    multiply(block.qkv, buffers.normalised, buffers.qkv, kernels::Sum::New, buffers);
    buffers.attention.run(m_parts.kernels, m_parts.pool, rotation, buffers.qkv, buffers.attended);
    multiply(block.output, buffers.attended, buffers.x, kernels::Sum::Added, buffers);
}

void VisionTower::feedForward(const VisionWeights::Block& block, const Buffers& buffers) const
{
    const VisionConfig& config = m_parts.config;
    normalise(buffers.x, block.mlpNorm, config.normEpsilon, buffers.normalised, config.hiddenSize);
    multiply(block.mlpUp, buffers.normalised, buffers.mlp, kernels::Sum::New, buffers);
    const auto patches = static_cast<std::uint32_t>(buffers.mlp.size() / config.mlpWidth);
    m_parts.pool.parallelFor(patches, 4, [&](std::uint32_t begin, std::uint32_t end, std::uint32_t) {
        const std::size_t width = config.mlpWidth;
        m_parts.kernels.geluTanh(buffers.mlp.data() + begin * width, (end - begin) * width);
    });
    multiply(block.mlpDown, buffers.mlp, buffers.x, kernels::Sum::Added, buffers);
}

std::vector<float> VisionTower::project(const ImagePlan& plan, const Buffers& buffers) const
{
    const VisionConfig& config = m_parts.config;
    const std::size_t hidden = config.hiddenSize;
    const std::size_t positions = plan.positionCount();
    normalise(buffers.x, m_parts.weights.finalNorm, config.normEpsilon, buffers.normalised, config.hiddenSize);

    // A position is its four patches one after the other: (2Y, 2X), (2Y, 2X+1), (2Y+1, 2X), (2Y+1, 2X+1).
    float* out = buffers.merged.data();
    for (std::uint32_t row = 0; row < plan.gridRows; row += 2) {
        for (std::uint32_t column = 0; column < plan.gridColumns; column += 2) {
            for (const std::uint32_t y : {row, row + 1}) {
                const float* pair = buffers.normalised.data() + (std::size_t{y} * plan.gridColumns + column) * hidden;
                out = std::copy(pair, pair + 2 * hidden, out);
            }
        }
    }
    multiply(m_parts.weights.projectorUp, buffers.merged, buffers.x, kernels::Sum::New, buffers);
    geluErf(buffers.x);
    std::vector<float> rows(positions * config.textHiddenSize);
    multiply(m_parts.weights.projectorDown, buffers.x, rows, kernels::Sum::New, buffers);
    normalise(rows, m_parts.weights.projectorNorm, config.projectorEpsilon, rows, config.textHiddenSize);
    return rows;
}

// y[t] = x[t]·weight/√(mean of squares + ε) for every row t of `width`. May be in place.
void VisionTower::normalise(
    std::span<const float> x, const float* weight, float epsilon, std::span<float> y, std::size_t width) const
{
    const auto rows = static_cast<std::uint32_t>(x.size() / width);
    m_parts.pool.parallelFor(rows, 16, [&](std::uint32_t begin, std::uint32_t end, std::uint32_t) {
        for (std::size_t at = begin * width; at < end * width; at += width) {
            const float meanSquare = m_parts.kernels.dot(&x[at], &x[at], width) / static_cast<float>(width);
            const float scale = 1.0F / std::sqrt(meanSquare + epsilon);
            for (std::size_t i = 0; i < width; ++i)
                y[at + i] = x[at + i] * scale * weight[i];
        }
    });
}

// y[t] = W·x[t], or y[t] += W·x[t], for every row t of x.
void VisionTower::multiply(const kernels::MatrixView& matrix, std::span<const float> x, std::span<float> y,
    kernels::Sum sum, const Buffers& buffers) const
{
    const std::size_t rows = x.size() / matrix.columns;
    m_parts.pool.parallelFor(
        matrix.rows, kernels::kPanelGrain, [&](std::uint32_t begin, std::uint32_t end, std::uint32_t worker) {
            kernels::multiplyPanels(m_parts.kernels, matrix, {x.data(), matrix.columns, rows}, {y.data(), matrix.rows},
                begin, end, sum, buffers.panels.data() + worker * kernels::kPanelScratchFloats);
        });
}

} // namespace waste
