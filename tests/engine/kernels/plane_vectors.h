#pragma once

#include "kernels/kernel_table.h"

#include <vector>

namespace waste::test {

using namespace waste::kernels;

// Vectors in planes, and the memory for them.
struct Planes {
    std::vector<PlaneBytes> bytes;
    std::vector<PlaneWords> words;
    std::vector<float> scales;
    std::vector<std::int32_t> sums;
    PlaneInput input;

    Planes(const KernelTable& table, const std::vector<float>& x, std::size_t columns, std::size_t tokens)
    {
        const std::size_t count = (columns + kPlaneGroup - 1) / kPlaneGroup;
        const std::size_t places = planeStride(count) * tokens;
        bytes.resize(places);
        words.resize(places);
        scales.resize(places);
        sums.resize(places);
        input = {bytes.data(), words.data(), scales.data(), sums.data(), count, tokens};
        for (std::size_t t = 0; t < tokens; ++t)
            table.splitPlanes(x.data() + t * columns, columns, input.token(t));
    }
};

} // namespace waste::test
