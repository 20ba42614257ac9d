#pragma once

#include "checkpoint/checkpoint_files.h"
#include "convert/conversion_progress.h"
#include "convert/download_folder.h"
#include "convert/work_folder.h"
#include "waste/converter.h"
#include "waste/result.h"

#include <memory>
#include <string>

namespace waste {

// Which shards of the source can be read, which are still to come, and which were deleted after their use. A plain
// folder has all of them; a download has those that it has verified, under --follow and where shards are deleted.
class SourceShards {
public:
    // Waits for the small files of a download that is followed. Errors: InvalidArgument (nothing to follow), Io,
    // Corrupt, Unsupported, Cancelled.
    static Result<SourceShards> open(const ConvertOptions& options, const ConversionProgress& progress);

    [[nodiscard]] DownloadFolder& download() { return m_download; }
    [[nodiscard]] bool isReclaimed(const std::string& shard) const { return m_download.reclaimed().contains(shard); }
    // Whether its file is there and may be used.
    [[nodiscard]] bool isHere(const std::string& shard) const;

    // The checkpoint with the shards that are here. Waits for headers. Errors: NotFound with the reason reclaimed
    // where a shard is gone and nobody kept its header, and those of CheckpointFiles.
    Result<std::unique_ptr<CheckpointFiles>> openCheckpoint(const ConversionProgress& progress);
    // Opens what has come since. Without `follow` a shard that is not here is an error (NotFound).
    Status openArrived(CheckpointFiles& files);
    // Returns when openArrived() has opened another one.
    Status waitForShard(CheckpointFiles& files, const ConversionProgress& progress);

    // Puts all headers into the work folder, so that a plan can be made when shards are gone.
    Status keepHeaders(const WorkFolder& folder, const ConversionProgress& progress);

private:
    SourceShards(const ConvertOptions& options, DownloadFolder download);
    [[nodiscard]] Result<CheckpointFiles::ShardHeader> header(
        const std::string& shard, const ConversionProgress& progress);
    [[nodiscard]] Result<std::optional<CheckpointFiles::ShardHeader>> findHeader(const std::string& shard) const;
    [[nodiscard]] bool usesVerifiedOnly() const;

    const ConvertOptions& m_options;
    DownloadFolder m_download;
};

} // namespace waste
