#pragma once

#include "container/trunk.h"
#include "container/trunk_loader.h"
#include "platform/pages.h"

namespace waste::test {

// A single tensor in memory of its own.
struct TrunkTensor {
    Pages pages;
    kernels::MatrixView matrix;

    static Result<TrunkTensor> load(
        const std::filesystem::path& container, const TrunkEntry& entry, Verification verification)
    {
        TrunkTensor tensor;
        WASTE_TRY(TrunkLoader loader, TrunkLoader::open(container, DirectFile::Access::Direct, verification));
        WASTE_TRY(tensor.pages, Pages::allocate(Trunk::residentBytes(entry), "test"));
        tensor.matrix = loader.add(entry, tensor.pages.bytes());
        WASTE_TRY_STATUS(loader.run([](std::uint64_t) { return Status(); }));
        return tensor;
    }
};

} // namespace waste::test
