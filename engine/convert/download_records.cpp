#include "convert/download_records.h"

#include "checkpoint/json_file.h"
#include "platform/sha.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <utility>

namespace waste {
namespace {

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

Result<DownloadPlan> parseDownloadPlan(std::string_view text, const std::string& file)
{
    const Error wrong{ErrorCode::Corrupt, "", file + " is not the plan of a download"};
    WASTE_TRY(const nlohmann::json root, parseJsonObject(text, file));
    if (numberMember(root, "format") != kFormat)
        return Error{ErrorCode::Unsupported, "", file + " was written by a newer program; update this one"};
    const auto files = root.find("files");
    const std::string commit = textMember(root, "commit");
    if (files == root.end() || !files->is_array() || commit.empty())
        return wrong;
    DownloadPlan plan;
    Sha256 identity;
    identity.update(std::as_bytes(std::span(commit)));
    for (const nlohmann::json& entry : *files) {
        if (!entry.is_object())
            return wrong;
        const std::int64_t index = numberMember(entry, "i");
        const std::int64_t bytes = numberMember(entry, "size");
        const std::string name = textMember(entry, "path");
        if (index < 0 || bytes < 0 || name.empty())
            return wrong;
        const std::string sha256 = textMember(entry, "sha256");
        const std::string content = name + '\n' + std::to_string(bytes) + ' ' + sha256 + '\n';
        identity.update(std::as_bytes(std::span(content)));
        plan.files[name] = {static_cast<std::uint64_t>(index), static_cast<std::uint64_t>(bytes), sha256,
            textMember(entry, "kind") == "shard"};
    }
    plan.identity = hexText(identity.finish()).substr(0, kIdentityDigits);
    return plan;
}

std::optional<VerifiedFiles> parseDownloadState(std::string_view text, const DownloadPlan& plan)
{
    const auto root = parseJsonObject(text, "state.json");
    const auto states = root ? root->find("files") : nlohmann::json::const_iterator();
    if (!root || states == root->end() || !states->is_object())
        return std::nullopt;
    VerifiedFiles verified;
    for (const auto& [name, planned] : plan.files) {
        const auto state = states->find(std::to_string(planned.index));
        if (state == states->end() || !state->is_object() || textMember(*state, "state") != "verified")
            continue;
        const std::string modified = textMember(*state, "mtime_ns");
        VerifiedFile facts{static_cast<std::uint64_t>(std::max<std::int64_t>(numberMember(*state, "size"), 0)), 0};
        std::from_chars(modified.data(), modified.data() + modified.size(), facts.modifiedNs);
        verified.emplace(name, facts);
    }
    return verified;
}

ReclaimLedger parseLedger(std::string_view text)
{
    ReclaimLedger ledger;
    std::size_t start = 0;
    for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n', start)) {
        const std::string_view line = text.substr(start, end - start);
        if (const std::size_t tab = line.find('\t'); tab != std::string_view::npos && tab > 0)
            ledger.names.emplace(line.substr(0, tab));
        start = end + 1;
    }
    ledger.isWhole = start == text.size();
    return ledger;
}

} // namespace waste
