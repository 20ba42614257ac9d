#include "convert/source_shards.h"

#include "checkpoint/safetensors.h"
#include "container/part_file.h"
#include "convert/kept_header.h"
#include "convert/space_wait.h"
#include "platform/file_error.h"
#include "platform/path_text.h"
#include "platform/small_file.h"

#include <chrono>
#include <system_error>
#include <utility>

namespace waste {
namespace {

using namespace std::chrono_literals;

constexpr auto kLookAgain = 200ms;
constexpr std::string_view kHeaderFolder = "headers";

std::string keptHeaderName(const std::string& shard)
{
    return std::string(kHeaderFolder) + "/" + shard + ".header";
}

} // namespace

Result<SourceShards> SourceShards::open(const ConvertOptions& options, const ConversionProgress& progress)
{
    WASTE_TRY(DownloadFolder download, DownloadFolder::open(options.source));
    if (options.follow && !download.isDownload())
        return Error{ErrorCode::InvalidArgument, "",
            textFromPath(options.source) + " is not being downloaded by this program; convert it without --follow"};
    if (options.follow && !download.hasSmallFiles())
        progress.report(ConvertWaiting{.cause = ConvertWaiting::Cause::Download});
    while (options.follow && !download.hasSmallFiles()) {
        WASTE_TRY_STATUS(pause(kLookAgain, progress));
        download.refresh();
    }
    return SourceShards(options, std::move(download));
}

SourceShards::SourceShards(const ConvertOptions& options, DownloadFolder download)
    : m_options(options)
    , m_download(std::move(download))
{
}

// Where shards come and go, only what the download vouches for is taken for one.
bool SourceShards::usesVerifiedOnly() const
{
    return m_download.isDownload() && (m_options.follow || m_options.reclaim != Reclaim::Off);
}

bool SourceShards::isHere(const std::string& shard) const
{
    if (isReclaimed(shard))
        return false;
    if (usesVerifiedOnly())
        return m_download.isVerified(shard);
    std::error_code error;
    return std::filesystem::is_regular_file(m_options.source / pathFromText(shard), error);
}

Result<std::unique_ptr<CheckpointFiles>> SourceShards::openCheckpoint(const ConversionProgress& progress)
{
    const auto find = [&](const std::string& shard) { return header(shard, progress); };
    WASTE_TRY(std::unique_ptr<CheckpointFiles> files, CheckpointFiles::openHeaders(m_options.source, find));
    WASTE_TRY_STATUS(openArrived(*files));
    return files;
}

Result<CheckpointFiles::ShardHeader> SourceShards::header(const std::string& shard, const ConversionProgress& progress)
{
    for (bool isTold = false;;) {
        WASTE_TRY(std::optional<CheckpointFiles::ShardHeader> found, findHeader(shard));
        if (found)
            return std::move(*found);
        const std::string place = textFromPath(m_options.source / pathFromText(shard));
        if (isReclaimed(shard))
            return Error{ErrorCode::NotFound, "reclaimed",
                place + " was deleted after it had been converted; download it again to convert anew"};
        if (!m_options.follow)
            return CheckpointFiles::readShardHeader(m_options.source / pathFromText(shard)); // which says what is wrong
        if (!std::exchange(isTold, true))
            progress.report(ConvertWaiting{.cause = ConvertWaiting::Cause::Download});
        WASTE_TRY_STATUS(pause(kLookAgain, progress));
        m_download.refresh();
    }
}

Result<std::optional<CheckpointFiles::ShardHeader>> SourceShards::findHeader(const std::string& shard) const
{
    if (isHere(shard)) {
        WASTE_TRY(auto header, CheckpointFiles::readShardHeader(m_options.source / pathFromText(shard)));
        return std::optional(std::move(header));
    }
    const auto kept =
        readSmallFile(m_options.target / kConversionFolder / keptHeaderName(shard), kSafetensorsHeaderBytesMax + 32);
    if (kept) {
        if (auto header = parseKeptHeader(*kept))
            return header;
    }
    return m_download.header(shard);
}

Status SourceShards::openArrived(CheckpointFiles& files)
{
    const std::vector<std::string> names = files.shardNames();
    for (std::uint32_t shard = 0; shard < names.size(); ++shard) {
        if (files.isShardOpen(shard) || isReclaimed(names[shard]))
            continue;
        if (isHere(names[shard]))
            WASTE_TRY_STATUS(files.openShard(shard));
        else if (!m_options.follow)
            return Error{ErrorCode::NotFound, "",
                textFromPath(m_options.source / pathFromText(names[shard]))
                    + " is not there, or not as its download left it; finish the download, or follow it"};
    }
    return {};
}

Status SourceShards::waitForShard(CheckpointFiles& files, const ConversionProgress& progress)
{
    const auto openCount = [&files] {
        std::size_t count = 0;
        for (std::uint32_t shard = 0; shard < files.shardNames().size(); ++shard)
            count += files.isShardOpen(shard) ? 1 : 0;
        return count;
    };
    const std::size_t before = openCount();
    for (bool isTold = false;;) {
        m_download.refresh();
        WASTE_TRY_STATUS(openArrived(files));
        if (openCount() > before)
            return {};
        if (!std::exchange(isTold, true))
            progress.report(ConvertWaiting{.cause = ConvertWaiting::Cause::Download});
        WASTE_TRY_STATUS(pause(kLookAgain, progress));
    }
}

Status SourceShards::keepHeaders(const WorkFolder& folder, const ConversionProgress& progress)
{
    std::error_code error;
    std::filesystem::create_directories(folder.path(kHeaderFolder), error);
    if (error)
        return fileError("create", folder.path(kHeaderFolder), error);
    WASTE_TRY(const std::vector<std::string> shards, CheckpointFiles::listShards(m_options.source));
    for (const std::string& shard : shards) {
        WASTE_TRY(const bool isKept, isThere(folder.path(keptHeaderName(shard))));
        if (isKept)
            continue;
        WASTE_TRY(const CheckpointFiles::ShardHeader text, header(shard, progress));
        WASTE_TRY_STATUS(folder.write(keptHeaderName(shard), keptHeaderText(text)));
    }
    return {};
}

} // namespace waste
