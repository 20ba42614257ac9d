#include "vision/vision_tower.h"

#include "kernels/matrix_product.h"
#include "vision/vision_math.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace waste {
namespace {

constexpr std::uint32_t kRowGrain = 16; // weight rows of one piece of work
constexpr std::uint32_t kQueryTile = 32; // patches whose scores are computed together

} // namespace

struct VisionTower::Buffers {
    std::span<float> x; // [patches][Dv], the residual stream; merged rows [positions][4Dv] lie in it in the end
    std::span<float> normalised; // [patches][Dv]; then what is added to x
    std::span<float> qkv; // [patches][3Q]
    std::span<float> attended; // [patches][Q]
    std::span<float> mlp; // [patches][Fv]
    std::span<float> merged; // [positions][4Dv]
    std::span<float> scores; // [threads][kQueryTile][patches]
    std::span<float> tiles; // [threads][kernels::kTileFloats]

    template<typename A>
    static Buffers carve(A& arena, const VisionConfig& config, std::uint32_t patchCount, std::uint32_t threadCount)
    {
        const std::size_t patches = patchCount;
        Buffers buffers;
        buffers.x = arena.template take<float>(patches * config.hiddenSize);
        buffers.normalised = arena.template take<float>(patches * config.hiddenSize);
        buffers.qkv = arena.template take<float>(patches * 3 * config.qkvSize);
        buffers.attended = arena.template take<float>(patches * config.qkvSize);
        buffers.mlp = arena.template take<float>(patches * config.mlpWidth);
        buffers.merged = arena.template take<float>(patches * config.hiddenSize);
        buffers.scores = arena.template take<float>(std::size_t{threadCount} * kQueryTile * patches);
        buffers.tiles = arena.template take<float>(threadCount * kernels::kTileFloats);
        return buffers;
    }
};

std::uint64_t VisionTower::scratchBytes(const VisionConfig& config, std::uint32_t patchCount, std::uint32_t threadCount)
{
    ArenaSize size;
    Buffers::carve(size, config, patchCount, threadCount);
    return size.bytes();
}

Result<std::vector<float>> VisionTower::encode(
    std::span<const float> patches, const ImagePlan& plan, const ProgressSink& progress, const CancelFlag* cancel) const
{
    const VisionConfig& config = m_parts.config;
    const std::uint32_t threads = m_parts.pool.threadCount();
    WASTE_TRY(Arena arena, Arena::create(scratchBytes(config, plan.patchCount(), threads), "the vision tower"));
    const Buffers buffers = Buffers::carve(arena, config, plan.patchCount(), threads);

    embed(patches, plan, buffers);
    const PatchRotation rotation(config.headDim(), plan.gridRows, plan.gridColumns);
    std::uint64_t blocksDone = 0;
    for (const VisionWeights::Block& block : m_parts.weights.blocks) {
        if (cancel != nullptr && cancel->isCancelled())
            return Error{ErrorCode::Cancelled, "", "reading the picture was cancelled"};
        attend(block, plan, rotation, buffers);
        feedForward(block, plan, buffers);
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
    addProduct(kernel, patches.data(), buffers);
}

void VisionTower::attend(const VisionWeights::Block& block, const ImagePlan& plan, const PatchRotation& rotation,
    const Buffers& buffers) const
{
    const VisionConfig& config = m_parts.config;
    const std::uint32_t patches = plan.patchCount();
    const std::size_t headDim = config.headDim();
    const std::size_t stride = std::size_t{3} * config.qkvSize;
    normalise(buffers.x.data(), block.attentionNorm, config.normEpsilon, buffers.normalised.data(), patches,
        config.hiddenSize);
    multiply(block.qkv, buffers.normalised.data(), buffers.qkv.data(), patches, buffers);

    m_parts.pool.parallelFor(patches, 8, [&](std::uint32_t begin, std::uint32_t end, std::uint32_t) {
        for (std::uint32_t patch = begin; patch < end; ++patch) {
            float* row = buffers.qkv.data() + patch * stride;
            for (std::uint32_t head = 0; head < 2 * config.headCount; ++head) // queries, then keys
                rotation.apply({row + head * headDim, headDim}, patch / plan.gridColumns, patch % plan.gridColumns);
        }
    });

    std::fill(buffers.attended.begin(), buffers.attended.end(), 0.0F);
    const float scale = 1.0F / std::sqrt(static_cast<float>(headDim));
    const std::uint32_t tiles = (patches + kQueryTile - 1) / kQueryTile;
    m_parts.pool.parallelFor(
        config.headCount * tiles, 1, [&](std::uint32_t begin, std::uint32_t end, std::uint32_t worker) {
            for (std::uint32_t task = begin; task < end; ++task) {
                const std::uint32_t head = task / tiles;
                const std::uint32_t first = task % tiles * kQueryTile;
                const std::uint32_t count = std::min(kQueryTile, patches - first);
                float* scores = buffers.scores.data() + std::size_t{worker} * kQueryTile * patches;
                const float* query = buffers.qkv.data() + first * stride + head * headDim;
                const float* key = buffers.qkv.data() + config.qkvSize + head * headDim;
                const float* value = key + config.qkvSize;
                m_parts.kernels.multiplyTokens(
                    {key, stride, patches, query, stride, count, headDim, scores, patches, false});
                for (std::uint32_t i = 0; i < count; ++i) {
                    const std::span<float> row(scores + std::size_t{i} * patches, patches);
                    for (float& score : row)
                        score *= scale;
                    const float maximum = *std::max_element(row.begin(), row.end());
                    const float sum = m_parts.kernels.expAndSum(row.data(), maximum, row.size());
                    for (float& score : row)
                        score /= sum;
                }
                float* out = buffers.attended.data() + std::size_t{first} * config.qkvSize + head * headDim;
                m_parts.kernels.addProduct(
                    {scores, patches, 1, value, stride, out, config.qkvSize, count, patches, headDim});
            }
        });
    addProduct(block.output, buffers.attended.data(), buffers);
}

void VisionTower::feedForward(const VisionWeights::Block& block, const ImagePlan& plan, const Buffers& buffers) const
{
    const VisionConfig& config = m_parts.config;
    const std::uint32_t patches = plan.patchCount();
    normalise(
        buffers.x.data(), block.mlpNorm, config.normEpsilon, buffers.normalised.data(), patches, config.hiddenSize);
    multiply(block.mlpUp, buffers.normalised.data(), buffers.mlp.data(), patches, buffers);
    m_parts.pool.parallelFor(patches, 4, [&](std::uint32_t begin, std::uint32_t end, std::uint32_t) {
        geluTanh(buffers.mlp.subspan(std::size_t{begin} * config.mlpWidth, std::size_t{end - begin} * config.mlpWidth));
    });
    addProduct(block.mlpDown, buffers.mlp.data(), buffers);
}

std::vector<float> VisionTower::project(const ImagePlan& plan, const Buffers& buffers) const
{
    const VisionConfig& config = m_parts.config;
    const std::size_t hidden = config.hiddenSize;
    const std::size_t positions = plan.positionCount();
    normalise(buffers.x.data(), m_parts.weights.finalNorm, config.normEpsilon, buffers.normalised.data(),
        plan.patchCount(), hidden);

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
    multiply(m_parts.weights.projectorUp, buffers.merged.data(), buffers.x.data(), positions, buffers);
    geluErf(buffers.x.first(positions * config.mergedSize()));
    std::vector<float> rows(positions * config.textHiddenSize);
    multiply(m_parts.weights.projectorDown, buffers.x.data(), rows.data(), positions, buffers);
    normalise(rows.data(), m_parts.weights.projectorNorm, config.projectorEpsilon, rows.data(), positions,
        config.textHiddenSize);
    return rows;
}

void VisionTower::normalise(
    const float* x, const float* weight, float epsilon, float* y, std::size_t rows, std::size_t width) const
{
    for (std::size_t row = 0; row < rows; ++row, x += width, y += width) {
        const float meanSquare = m_parts.kernels.dot(x, x, width) / static_cast<float>(width);
        const float scale = 1.0F / std::sqrt(meanSquare + epsilon);
        for (std::size_t i = 0; i < width; ++i)
            y[i] = x[i] * scale * weight[i];
    }
}

// y[t] = W·x[t] for every row t.
void VisionTower::multiply(
    const kernels::MatrixView& matrix, const float* x, float* y, std::size_t rows, const Buffers& buffers) const
{
    m_parts.pool.parallelFor(matrix.rows, kRowGrain, [&](std::uint32_t begin, std::uint32_t end, std::uint32_t worker) {
        kernels::multiply(m_parts.kernels, matrix, {x, matrix.columns, rows}, {y, matrix.rows}, begin, end,
            buffers.tiles.data() + worker * kernels::kTileFloats);
    });
}

// x[t] += W·y[t] for every patch t.
void VisionTower::addProduct(const kernels::MatrixView& matrix, const float* y, const Buffers& buffers) const
{
    multiply(matrix, y, buffers.normalised.data(), buffers.x.size() / m_parts.config.hiddenSize, buffers);
    m_parts.kernels.addScaled(1, buffers.normalised.data(), buffers.x.data(), buffers.x.size());
}

} // namespace waste
