#include "vision/patch_attention.h"

#include "vision/vision_math.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace waste {
namespace {

using kernels::kPanelRows;

// Eight maxima side by side do not wait for each other.
float maximumOf(std::span<const float> values)
{
    constexpr std::size_t kLanes = 8;
    std::array<float, kLanes> lanes;
    lanes.fill(values[0]);
    std::size_t i = 0;
    for (; i + kLanes <= values.size(); i += kLanes) {
        for (std::size_t lane = 0; lane < kLanes; ++lane)
            lanes[lane] = std::max(lanes[lane], values[i + lane]);
    }
    for (; i < values.size(); ++i)
        lanes[0] = std::max(lanes[0], values[i]);
    return *std::max_element(lanes.begin(), lanes.end());
}

} // namespace

void PatchAttention::run(const kernels::KernelTable& kernels, ThreadPool& pool, const PatchRotation& rotation,
    std::span<float> qkv, std::span<float> attended) const
{
    const auto panelCount = static_cast<std::uint32_t>(panels(m_shape.patchCount));
    pool.parallelFor(panelCount, 1, [&](std::uint32_t begin, std::uint32_t end, std::uint32_t) {
        for (std::uint32_t panel = begin; panel < end; ++panel)
            turnAndPack(kernels, rotation, qkv, panel);
    });
    const std::uint32_t tiles = ceilDivide(m_shape.patchCount, kQueryTile);
    pool.parallelFor(m_shape.headCount * tiles, 1, [&](std::uint32_t begin, std::uint32_t end, std::uint32_t worker) {
        for (std::uint32_t task = begin; task < end; ++task)
            attendTile(kernels, qkv, task / tiles, task % tiles * kQueryTile,
                m_scratch.data() + worker * workerFloats(m_shape), attended);
    });
}

// The patches of one panel, of every head.
void PatchAttention::turnAndPack(
    const kernels::KernelTable& kernels, const PatchRotation& rotation, std::span<float> qkv, std::uint32_t panel) const
{
    const std::size_t headDim = m_shape.headDim;
    const std::size_t stride = 3 * m_shape.width();
    const std::size_t first = panel * kPanelRows;
    const std::size_t count = std::min(kPanelRows, m_shape.patchCount - first);
    float* const rows = qkv.data() + first * stride;
    for (std::size_t i = 0; i < count; ++i) {
        const auto patch = static_cast<std::uint32_t>(first + i);
        for (std::size_t head = 0; head < std::size_t{2} * m_shape.headCount; ++head) // queries, then keys
            rotation.apply({rows + i * stride + head * headDim, headDim}, patch / m_shape.gridColumns,
                patch % m_shape.gridColumns);
    }
    for (std::size_t head = 0; head < m_shape.headCount; ++head) {
        const float* key = rows + m_shape.width() + head * headDim;
        kernels.packPanel(
            key, stride, count, headDim, m_keys.data() + head * keyFloats(m_shape) + panel * headDim * kPanelRows);
        const float* value = key + m_shape.width();
        for (std::size_t column = 0; column < headDim; column += kPanelRows) {
            float* target = m_values.data() + head * valueFloats(m_shape)
                + (column / kPanelRows * m_shape.patchCount + first) * kPanelRows;
            for (std::size_t i = 0; i < count; ++i, target += kPanelRows)
                std::copy_n(value + i * stride + column, std::min(kPanelRows, headDim - column), target);
        }
    }
}

void PatchAttention::attendTile(const kernels::KernelTable& kernels, std::span<const float> qkv, std::uint32_t head,
    std::uint32_t firstQuery, float* scratch, std::span<float> attended) const
{
    const std::size_t patches = m_shape.patchCount;
    const std::size_t headDim = m_shape.headDim;
    const std::size_t width = m_shape.width();
    const std::size_t count = std::min<std::size_t>(kQueryTile, patches - firstQuery);
    float* const queries = scratch; // [count][headDim]
    float* const scores = queries + kQueryTile * headDim; // [count][scoreStride]
    const std::size_t stride = scoreStride(m_shape);

    const float scale = 1.0F / std::sqrt(static_cast<float>(headDim));
    for (std::size_t i = 0; i < count; ++i) {
        const float* query = qkv.data() + (firstQuery + i) * 3 * width + head * headDim;
        std::transform(query, query + headDim, queries + i * headDim, [scale](float q) { return q * scale; });
    }
    const float* key = m_keys.data() + head * keyFloats(m_shape);
    for (std::size_t first = 0; first < patches; first += kPanelRows, key += headDim * kPanelRows)
        kernels.multiplyPanel({key, std::min(kPanelRows, patches - first), queries, headDim, count, headDim,
            scores + first, stride, false});

    std::array<float, kQueryTile> sums{};
    for (std::size_t i = 0; i < count; ++i) {
        const std::span<float> row(scores + i * stride, patches);
        sums[i] = kernels.expAndSum(row.data(), maximumOf(row), row.size());
    }

    float* const out = attended.data() + firstQuery * width + head * headDim;
    for (std::size_t first = 0; first < patches; first += kDepth) {
        const std::size_t depth = std::min<std::size_t>(kDepth, patches - first);
        const float* value = m_values.data() + head * valueFloats(m_shape) + first * kPanelRows;
        for (std::size_t column = 0; column < headDim; column += kPanelRows, value += patches * kPanelRows)
            kernels.multiplyPanel({value, std::min(kPanelRows, headDim - column), scores + first, stride, count, depth,
                out + column, width, first != 0});
    }
    for (std::size_t i = 0; i < count; ++i) {
        const float share = 1.0F / sums[i];
        for (std::size_t c = 0; c < headDim; ++c)
            out[i * width + c] *= share;
    }
}

} // namespace waste
