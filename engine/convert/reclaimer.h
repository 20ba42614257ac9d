#pragma once

#include "checkpoint/checkpoint_files.h"
#include "convert/conversion_plan.h"
#include "convert/conversion_progress.h"
#include "convert/layer_store.h"
#include "convert/source_shards.h"
#include "convert/trunk_store.h"
#include "convert/work_folder.h"
#include "platform/file_facts.h"
#include "platform/file_lock.h"
#include "waste/converter.h"
#include "waste/result.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace waste {

// Deletes source shards of which nothing is needed any more (spec: conversion 8 and download 9.3).
//
// Every tensor has one consumer: the layer of its expert, or the trunk. A shard may go when all its consumers are
// finished, which means: on the device, under their final names, read back with their checksums. Nothing goes before
// the first layer with experts was compared with its source. The ledger is written before the file is deleted.
class Reclaimer {
public:
    using FinishedLayers = std::map<std::uint32_t, FinishedLayer>;

    // All arguments outlive it.
    Reclaimer(const ConvertOptions& options, CheckpointFiles& files, const ConversionPlan& plan,
        const WorkFolder& folder, SourceShards& shards, const ConversionProgress& progress,
        std::function<void(const std::string&)> warn);

    // Refuses what must not be begun, before anything is written. Errors: InvalidArgument, Busy, Io.
    static Status checkPlaces(const ConvertOptions& options, SourceShards& shards);
    // Takes the download's lock, keeps the headers, remembers how the shards are now, and finishes deletions that an
    // earlier run announced. Does nothing with Reclaim::Off.
    Status begin();
    // Call after every unit of work.
    Status release(const FinishedLayers& layers, const TrunkStore& trunk);

    // Room that is needed at most on the source's volume, where shards make room for what is written: `bytes`, and then
    // these banks. `layers` are finished already.
    [[nodiscard]] std::uint64_t peakBytes(
        std::uint64_t bytes, std::span<const BankEntry* const> banks, const FinishedLayers& layers) const;

private:
    struct Consumers {
        std::set<std::uint32_t> layers;
        std::set<std::size_t> tensors; // of the trunk, as items of the plan
    };

    void findConsumers();
    [[nodiscard]] bool isFree(std::uint32_t shard, const FinishedLayers& layers, const TrunkStore& trunk) const;
    [[nodiscard]] Result<bool> isProven(const FinishedLayers& layers);
    Status reclaim(std::uint32_t shard);
    [[nodiscard]] bool isUnchanged(std::uint32_t shard) const;

    const ConvertOptions& m_options;
    CheckpointFiles& m_files;
    const ConversionPlan& m_plan;
    const WorkFolder& m_folder;
    SourceShards& m_shards;
    const ConversionProgress& m_progress;
    const std::function<void(const std::string&)> m_warn;

    std::vector<std::string> m_names; // of the shards
    std::vector<Consumers> m_consumers; // by shard
    std::map<std::uint32_t, FileFacts> m_facts; // of shards as they were found
    std::set<std::uint32_t> m_done; // deleted, or told, or kept for good
    std::optional<FileLock> m_lock;
    std::uint64_t m_freedBytes = 0;
    bool m_toldOfNoProof = false;
};

} // namespace waste
