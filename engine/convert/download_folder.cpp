#include "convert/download_folder.h"

#include "base/current_time.h"
#include "checkpoint/json_file.h"
#include "checkpoint/safetensors.h"
#include "platform/file_error.h"
#include "platform/file_facts.h"
#include "platform/output_file.h"
#include "platform/path_text.h"
#include "platform/sha.h"
#include "platform/small_file.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace waste {
namespace {

constexpr std::string_view kPlanFile = "plan.json";
constexpr std::string_view kStateFile = "state.json";
constexpr std::string_view kLedgerFile = "reclaimed";
constexpr std::uint64_t kJsonBytesMax = std::uint64_t{64} << 20;
constexpr std::int64_t kFormat = 1;
constexpr std::size_t kIdentityDigits = 16;

std::string textMember(const nlohmann::json& object, const char* key)
{
    const auto value = object.find(key);
    return value != object.end() && value->is_string() ? value->get<std::string>() : std::string();
}

// A whole number of at least zero; −1: it is not there.
std::int64_t numberMember(const nlohmann::json& object, const char* key)
{
    const auto value = object.find(key);
    return value != object.end() && value->is_number_unsigned() ? std::max<std::int64_t>(value->get<std::int64_t>(), -1)
                                                                : -1;
}

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
    WASTE_TRY(const nlohmann::json root, parseJsonObject(*text, textFromPath(file)));
    if (numberMember(root, "format") != kFormat)
        return Error{
            ErrorCode::Unsupported, "", textFromPath(file) + " was written by a newer program; update this one"};
    const auto files = root.find("files");
    const std::string commit = textMember(root, "commit");
    if (files == root.end() || !files->is_array() || commit.empty())
        return Error{ErrorCode::Corrupt, "", textFromPath(file) + " is not the plan of a download"};
    Sha256 identity;
    identity.update(std::as_bytes(std::span(commit)));
    for (const nlohmann::json& entry : *files) {
        const std::int64_t index = entry.is_object() ? numberMember(entry, "i") : -1;
        const std::int64_t bytes = entry.is_object() ? numberMember(entry, "size") : -1;
        const std::string name = entry.is_object() ? textMember(entry, "path") : std::string();
        if (index < 0 || bytes < 0 || name.empty())
            return Error{ErrorCode::Corrupt, "", textFromPath(file) + " is not the plan of a download"};
        const std::string sha256 = textMember(entry, "sha256");
        const std::string content = name + '\n' + std::to_string(bytes) + ' ' + sha256 + '\n';
        identity.update(std::as_bytes(std::span(content)));
        m_planned[name] = {static_cast<std::uint64_t>(index), static_cast<std::uint64_t>(bytes), sha256,
            textMember(entry, "kind") == "shard"};
    }
    m_identity = hexText(identity.finish()).substr(0, kIdentityDigits);
    return {};
}

Status DownloadFolder::readLedger()
{
    const auto text = readSmallFile(path(kLedgerFile), kJsonBytesMax);
    if (!text)
        return text.error().code == ErrorCode::NotFound ? Status() : Status(text.error());
    std::size_t start = 0;
    // A last line that was torn was not followed by a deletion.
    for (std::size_t end = text->find('\n'); end != std::string::npos; end = text->find('\n', start)) {
        const std::string_view line = std::string_view(*text).substr(start, end - start);
        if (const std::size_t tab = line.find('\t'); tab != std::string_view::npos && tab > 0)
            m_reclaimed.emplace(line.substr(0, tab));
        start = end + 1;
    }
    m_ledgerIsWhole = start == text->size();
    return {};
}

bool DownloadFolder::hasSmallFiles() const
{
    return std::ranges::all_of(
        m_planned, [this](const auto& entry) { return entry.second.isShard || isVerified(entry.first); });
}

void DownloadFolder::refresh()
{
    const auto text = readSmallFile(path(kStateFile), kJsonBytesMax);
    const auto root = text ? parseJsonObject(*text, kStateFile) : Result<nlohmann::json>(text.error());
    if (!root || !root->contains("files") || !(*root)["files"].is_object())
        return;
    std::map<std::string, Verified> verified;
    const nlohmann::json& states = (*root)["files"];
    for (const auto& [name, planned] : m_planned) {
        const auto state = states.find(std::to_string(planned.index));
        if (state == states.end() || !state->is_object() || textMember(*state, "state") != "verified")
            continue;
        const std::string modified = textMember(*state, "mtime_ns");
        Verified facts{static_cast<std::uint64_t>(std::max<std::int64_t>(numberMember(*state, "size"), 0)), 0};
        std::from_chars(modified.data(), modified.data() + modified.size(), facts.modifiedNs);
        verified.emplace(name, facts);
    }
    m_verified = std::move(verified);
}

bool DownloadFolder::isVerified(const std::string& file) const
{
    const auto planned = m_planned.find(file);
    const auto verified = m_verified.find(file);
    if (planned == m_planned.end() || verified == m_verified.end())
        return false;
    const auto facts = fileFacts(m_staging / pathFromText(file));
    return facts && facts->isRegular && facts->bytes == planned->second.bytes && facts->bytes == verified->second.bytes
        && facts->modifiedNs == verified->second.modifiedNs;
}

Result<std::optional<CheckpointFiles::ShardHeader>> DownloadFolder::header(const std::string& shard) const
{
    const auto planned = m_planned.find(shard);
    if (planned == m_planned.end())
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
    const auto planned = m_planned.find(file);
    const std::string line = file + '\t' + std::to_string(bytes) + '\t'
        + (planned != m_planned.end() ? planned->second.sha256 : std::string()) + '\t' + currentTime() + '\n';
    WASTE_TRY(OutputFile ledger, OutputFile::open(path(kLedgerFile), OutputFile::Mode::Update));
    // A torn line of an earlier run must not take this one with it.
    const bool isWhole = std::exchange(m_ledgerIsWhole, false); // until this line is
    WASTE_TRY_STATUS(ledger.append(isWhole ? line : '\n' + line));
    WASTE_TRY_STATUS(ledger.flush());
    WASTE_TRY_STATUS(ledger.close());
    WASTE_TRY_STATUS(flushDirectory(m_staging / kName));
    m_ledgerIsWhole = true;
    m_reclaimed.insert(file);
    return {};
}

} // namespace waste
