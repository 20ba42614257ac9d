#pragma once

#include "kernels/kernel_table.h"

#include <vector>

namespace waste::test {

using namespace waste::kernels;

// Vectors in planes, and the memory for them.
struct Planes {
    std::vector<PlaneGroup> groups;
    std::vector<float> scales;
    std::vector<std::int32_t> sums;
    PlaneInput input;

    Planes(const KernelTable& table, const std::vector<float>& x, std::size_t columns, std::size_t tokens)
    {
        const std::size_t count = (columns + kPlaneGroup - 1) / kPlaneGroup;
        groups.resize(count * tokens);
        scales.resize(count * tokens);
        sums.resize(count * tokens);
        input = {groups.data(), scales.data(), sums.data(), count, tokens};
        for (std::size_t t = 0; t < tokens; ++t) {
            const std::size_t first = t * count;
            table.splitPlanes(x.data() + t * columns, columns,
                {groups.data() + first, scales.data() + first, sums.data() + first, count, 1});
        }
    }
};

} // namespace waste::test
