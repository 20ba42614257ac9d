#include "convert/download_folder.h"

#include "base/current_time.h"
#include "checkpoint/safetensors.h"
#include "platform/file_error.h"
#include "platform/file_facts.h"
#include "platform/output_file.h"
#include "platform/path_text.h"
#include "platform/small_file.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace waste {
namespace {

constexpr std::string_view kPlanFile = "plan.json";
constexpr std::string_view kStateFile = "state.json";
constexpr std::string_view kLedgerFile = "reclaimed";
constexpr std::uint64_t kJsonBytesMax = std::uint64_t{64} << 20;

} // namespace

Result<DownloadFolder> DownloadFolder::open(const std::filesystem::path& staging)
{
    DownloadFolder folder(staging);
    WASTE_TRY_STATUS(folder.readPlan());
    WASTE_TRY_STATUS(folder.readLedger());
    folder.refresh();
    return folder;
}

DownloadFolder::DownloadFolder(std::filesystem::path staging)
    : m_staging(std::move(staging))
{
}

Status DownloadFolder::readPlan()
{
    const std::filesystem::path file = path(kPlanFile);
    const auto text = readSmallFile(file, kJsonBytesMax);
    if (!text)
        return text.error().code == ErrorCode::NotFound ? Status() : Status(text.error());
    WASTE_TRY(m_plan, parseDownloadPlan(*text, textFromPath(file)));
    return {};
}

Status DownloadFolder::readLedger()
{
    const auto text = readSmallFile(path(kLedgerFile), kJsonBytesMax);
    if (!text)
        return text.error().code == ErrorCode::NotFound ? Status() : Status(text.error());
    m_ledger = parseLedger(*text);
    return {};
}

bool DownloadFolder::hasSmallFiles() const
{
    return std::ranges::all_of(
        m_plan.files, [this](const auto& entry) { return entry.second.isShard || isVerified(entry.first); });
}

void DownloadFolder::refresh()
{
    const auto text = readSmallFile(path(kStateFile), kJsonBytesMax);
    if (auto verified = text ? parseDownloadState(*text, m_plan) : std::nullopt)
        m_verified = std::move(*verified);
}

bool DownloadFolder::isVerified(const std::string& file) const
{
    const auto planned = m_plan.files.find(file);
    const auto verified = m_verified.find(file);
    if (planned == m_plan.files.end() || verified == m_verified.end())
        return false;
    const auto facts = fileFacts(m_staging / pathFromText(file));
    return facts && facts->isRegular && facts->bytes == planned->second.bytes && facts->bytes == verified->second.bytes
        && facts->modifiedNs == verified->second.modifiedNs;
}

Result<std::optional<CheckpointFiles::ShardHeader>> DownloadFolder::header(const std::string& shard) const
{
    const auto planned = m_plan.files.find(shard);
    if (planned == m_plan.files.end())
        return std::optional<CheckpointFiles::ShardHeader>();
    auto text =
        readSmallFile(path("headers") / (std::to_string(planned->second.index) + ".json"), kSafetensorsHeaderBytesMax);
    if (text)
        return std::optional(CheckpointFiles::ShardHeader{std::move(*text), planned->second.bytes});
    if (text.error().code == ErrorCode::NotFound)
        return std::optional<CheckpointFiles::ShardHeader>();
    return text.error();
}

Status DownloadFolder::recordReclaimed(const std::string& file, std::uint64_t bytes)
{
    std::error_code error;
    std::filesystem::create_directories(m_staging / kName, error);
    if (error)
        return fileError("create", m_staging / kName, error);
    const auto planned = m_plan.files.find(file);
    const std::string line = file + '\t' + std::to_string(bytes) + '\t'
        + (planned != m_plan.files.end() ? planned->second.sha256 : std::string()) + '\t' + currentTime() + '\n';
    WASTE_TRY(OutputFile ledger, OutputFile::open(path(kLedgerFile), OutputFile::Mode::Update));
    // A torn line of an earlier run must not take this one with it.
    const bool isWhole = std::exchange(m_ledger.isWhole, false); // until this line is
    WASTE_TRY_STATUS(ledger.append(isWhole ? line : '\n' + line));
    WASTE_TRY_STATUS(ledger.flush());
    WASTE_TRY_STATUS(ledger.close());
    WASTE_TRY_STATUS(flushDirectory(m_staging / kName));
    m_ledger.isWhole = true;
    m_ledger.names.insert(file);
    return {};
}

} // namespace waste
