#pragma once

#include "checkpoint/checkpoint_files.h"
#include "container/integrity.h"
#include "convert/bank_places.h"
#include "convert/conversion_plan.h"
#include "convert/conversion_progress.h"
#include "convert/layer_store.h"
#include "convert/reclaimer.h"
#include "convert/side_files.h"
#include "convert/source_shards.h"
#include "convert/target_state.h"
#include "convert/trunk_store.h"
#include "convert/work_folder.h"
#include "kernels/thread_pool.h"
#include "waste/converter.h"
#include "waste/result.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace waste {

// One run over one target: what was planned, what is there, what is made. Its functions are called in the order in
// which they stand; each waits where the drive is full. All arguments outlive it.
class Conversion {
public:
    Conversion(const ConvertOptions& options, CheckpointFiles& files, SourceShards& shards, const ConversionPlan& plan,
        const std::vector<SideFile>& sideFiles, const WorkFolder& folder, const TargetState& target,
        const BankPlaces& places, ConversionProgress& progress);

    void warn(const std::string& sentence); // at any time

    // Checks what earlier runs have left, and announces what is to be done.
    Status findFinishedWork();
    // Before anything is written: whether what is left can be made at all, and fits.
    Status checkSource() const;
    Status checkSpace() const;
    // What it leaves free on the volume of `folder`: a job does not keep more free than it writes.
    [[nodiscard]] Result<std::uint64_t> reserveBytes(const std::filesystem::path& folder) const;
    // Units of work, each of which a later run keeps when it is finished: some tensors of the trunk, or a layer's
    // experts. Takes what can be read, and waits for shards where the source is followed.
    Status convertWeights();
    Status writeCodebooks();
    Status writeSideFiles();
    Status publish();
    ConvertReport report(double seconds);

private:
    Status checkFinishedTrunk();
    Status checkFinishedBank(const BankEntry& bank);
    void warnOfDamage(const BankEntry& bank, const std::string& damage);
    void announce();

    Status convertTensors(const std::vector<std::size_t>& tensors);
    [[nodiscard]] std::vector<std::size_t> nextTensors() const;
    [[nodiscard]] const BankEntry* nextBank() const;
    [[nodiscard]] std::size_t indexOf(const BankEntry& bank) const;
    [[nodiscard]] Status checkNotReclaimed(const CheckpointTensor& tensor) const;
    Status convertLayer(const BankEntry& bank);
    Status makeBank(const BankEntry& bank, FinishedLayer& layer);
    Status writeIntegrity();

    const ConvertOptions& m_options;
    CheckpointFiles& m_files;
    SourceShards& m_shards;
    const ConversionPlan& m_plan;
    const std::vector<SideFile>& m_sideFiles;
    const WorkFolder& m_folder;
    const TargetState& m_target;
    const BankPlaces& m_places;
    const LayerStore m_store;
    TrunkStore m_trunk;
    Reclaimer m_reclaimer;
    ConversionProgress& m_progress;
    ThreadPool m_pool;

    std::map<std::uint32_t, FinishedLayer> m_layers; // by number: the order of their codebooks
    std::uint32_t m_codebooksCrc32 = 0;
    Integrity m_integrity; // of the banks at first
    ConvertReport m_report;
};

} // namespace waste
