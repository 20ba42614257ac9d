#pragma once

#include "container/trunk.h"
#include "container/trunk_loader.h"
#include "container/verification.h"
#include "platform/pages.h"

namespace waste::test {

// A single tensor in memory of its own. Verification::Headers takes it as if its manifest stated no checksum.
struct TrunkTensor {
    Pages pages;
    kernels::MatrixView matrix;

    static Result<TrunkTensor> load(
        const std::filesystem::path& container, const TrunkEntry& entry, Verification verification)
    {
        TrunkEntry taken = entry;
        if (verification == Verification::Headers)
            taken.crc32.reset();
        TrunkTensor tensor;
        WASTE_TRY(TrunkLoader loader, TrunkLoader::open(container, DirectFile::Access::Direct));
        WASTE_TRY(tensor.pages, Pages::allocate(Trunk::residentBytes(entry), "test"));
        tensor.matrix = loader.add(taken, tensor.pages.bytes());
        WASTE_TRY_STATUS(loader.run([](std::uint64_t) { return Status(); }));
        return tensor;
    }
};

} // namespace waste::test
