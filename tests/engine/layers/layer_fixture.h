#pragma once

#include "kernels/kernels.h"
#include "kernels/matrix_product.h"
#include "kernels/thread_pool.h"
#include "layers/compute.h"
#include "memory/arena.h"

#include <QTest>

#include <cmath>
#include <span>
#include <vector>

namespace waste::test {

// Kernels, workers and tiles for the functions of engine/layers.
class TestCompute {
public:
    explicit TestCompute(const kernels::KernelTable& table, std::uint32_t threadCount = 1)
        : m_pool({.threadCount = threadCount})
        , m_tiles(threadCount * kernels::kTileFloats)
        , m_compute{table, m_pool, m_tiles}
    {
    }
    [[nodiscard]] const Compute& get() const { return m_compute; }

private:
    ThreadPool m_pool;
    std::vector<float> m_tiles;
    Compute m_compute;
};

// An arena with exactly the room that carve(arena) takes.
template<typename Carve>
Arena arenaFor(const Carve& carve)
{
    ArenaSize size;
    carve(size);
    return std::move(*Arena::create(size.bytes(), "a test"));
}

inline kernels::MatrixView denseView(std::span<const float> values, std::uint32_t rows, std::uint32_t columns)
{
    return {.format = kernels::WeightFormat::F32,
        .rows = rows,
        .columns = columns,
        .rowBytes = columns * sizeof(float),
        .payload = reinterpret_cast<const std::byte*>(values.data())};
}

// The tables that run on this CPU, as rows of a data-driven test.
inline void addTableRows()
{
    QTest::addColumn<const kernels::KernelTable*>("table");
    for (const char* isa : kernels::instructionSets()) {
        if (const Result<const kernels::KernelTable*> table = kernels::selectKernels(isa))
            QTest::newRow(isa) << *table;
    }
}

// ‖actual − expected‖ / ‖expected‖ against values of higher precision.
inline double relativeErrorTo(std::span<const float> actual, std::span<const double> expected)
{
    if (actual.size() != expected.size())
        return INFINITY;
    double difference = 0;
    double norm = 0;
    for (std::size_t i = 0; i < actual.size(); ++i) {
        difference += (actual[i] - expected[i]) * (actual[i] - expected[i]);
        norm += expected[i] * expected[i];
    }
    return norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference);
}

} // namespace waste::test
