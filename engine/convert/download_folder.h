#pragma once

#include "checkpoint/checkpoint_files.h"
#include "convert/download_records.h"
#include "waste/result.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace waste {

// What a download writes beside the files that it brings (spec: download 6): the frozen list of files, which of them
// are verified, headers of shards that are still to come, and the ledger of shards that a conversion has used up and
// deleted. The converter reads all of it and appends to the ledger alone.
class DownloadFolder {
public:
    static constexpr std::string_view kName = ".waste-download";

    // `staging` is the folder of the files. Without a download there is nothing in it but, perhaps, a ledger.
    // Errors: Io, Corrupt, Unsupported (a newer program made it).
    static Result<DownloadFolder> open(const std::filesystem::path& staging);

    [[nodiscard]] bool isDownload() const { return !m_plan.files.empty(); }
    // Commit and checksums as one word: what the weights are. Empty without a download.
    [[nodiscard]] const std::string& identity() const { return m_plan.identity; }
    [[nodiscard]] bool isPlanned(const std::string& file) const { return m_plan.files.contains(file); }
    // Whether every file beside the shards is verified.
    [[nodiscard]] bool hasSmallFiles() const;

    // Looks again at what is verified. A state that is being replaced or broken is not an error: the next look helps.
    void refresh();
    // Whether the download says so, and the file is there as it was then.
    [[nodiscard]] bool isVerified(const std::string& file) const;

    // The header that came ahead of its shard; empty: it did not.
    [[nodiscard]] Result<std::optional<CheckpointFiles::ShardHeader>> header(const std::string& shard) const;

    [[nodiscard]] const std::set<std::string>& reclaimed() const { return m_ledger.names; }
    // Appends to the ledger and makes that durable. The file may be deleted afterwards, and not before.
    Status recordReclaimed(const std::string& file, std::uint64_t bytes);

private:
    explicit DownloadFolder(std::filesystem::path staging);
    [[nodiscard]] std::filesystem::path path(std::string_view name) const { return m_staging / kName / name; }
    Status readPlan();
    Status readLedger();

    std::filesystem::path m_staging;
    DownloadPlan m_plan;
    VerifiedFiles m_verified;
    ReclaimLedger m_ledger;
};

} // namespace waste
