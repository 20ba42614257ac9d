#pragma once

#include "container/manifest.h"
#include "convert/conversion_plan.h"
#include "convert/conversion_progress.h"
#include "convert/trunk_writer.h"
#include "convert/work_folder.h"
#include "kernels/thread_pool.h"
#include "waste/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace waste {

// The trunk while it is made. Since the plan knows where every tensor will lie, tensors are written to their final
// places in the work folder's trunk.bin, in any order; a journal beside it lists those that are on the device and
// were read back. So a conversion takes tensors as their shards arrive, loses none of them, and needs no second copy.
class TrunkStore {
public:
    // `published` is the container's manifest if it has the plan's recipe. All outlive the store.
    TrunkStore(const CheckpointFiles& files, const ConversionPlan& plan, const WorkFolder& folder,
        const std::optional<Manifest>& published);

    // What earlier runs have left: from the journal, else from a published container. Returns the bytes that check()
    // will read. Errors: Io.
    [[nodiscard]] Result<std::uint64_t> find();
    // Reads it; what is not as it was written is forgotten, and a sentence about it returned. Errors: Io, Cancelled.
    [[nodiscard]] Result<std::string> check(ConversionProgress& progress);

    [[nodiscard]] bool isFinished(std::size_t item) const { return m_finished[item].has_value(); }
    [[nodiscard]] bool isComplete() const;
    // Whether trunk.bin of the container is the one, and need not be replaced.
    [[nodiscard]] bool isPublished() const { return m_isPublished; }
    [[nodiscard]] std::uint64_t finishedBytes() const; // payloads and scales
    // Where trunk.bin is until the commit.
    [[nodiscard]] std::filesystem::path path() const;

    // Converts items of the plan; they are finished when it returns, all of them or none. Waits for room.
    // Errors: those of writeTensor(), but NoSpace.
    [[nodiscard]] Status convert(std::span<const std::size_t> items, ThreadPool& pool, ConversionProgress& progress);

    // The plan's entries with their checksums. isComplete() holds.
    [[nodiscard]] std::vector<TrunkEntry> entries() const;
    // Over all tensors that are not stored as F32; nothing where they came from a published container.
    [[nodiscard]] SquaredError quantised() const;

private:
    [[nodiscard]] Status readJournal();
    void takePublished();
    [[nodiscard]] Status convertOnce(
        std::span<const std::size_t> items, ThreadPool& pool, ConversionProgress& progress);
    [[nodiscard]] Status appendToJournal(std::span<const std::size_t> items, std::span<const WrittenTensor> written);

    const CheckpointFiles& m_files;
    const ConversionPlan& m_plan;
    const WorkFolder& m_folder;
    const std::optional<Manifest>& m_published;
    std::vector<std::optional<WrittenTensor>> m_finished; // by item of the plan
    bool m_isPublished = false;
};

} // namespace waste
