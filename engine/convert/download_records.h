#pragma once

#include "waste/result.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace waste {

// What the files of a download say (spec: download 6.2, 6.3 and 6.1). Bytes from outside; none of their numbers is used
// before it is checked.

struct PlannedFile {
    std::uint64_t index = 0;
    std::uint64_t bytes = 0;
    std::string sha256; // empty for small files
    bool isShard = false;
};
struct DownloadPlan {
    std::map<std::string, PlannedFile> files; // by name
    std::string identity; // commit and checksums as one word
};
// `file` is named in errors: Corrupt, Unsupported (a newer program wrote it).
Result<DownloadPlan> parseDownloadPlan(std::string_view text, const std::string& file);

struct VerifiedFile {
    std::uint64_t bytes = 0;
    std::int64_t modifiedNs = 0;
};
using VerifiedFiles = std::map<std::string, VerifiedFile>;
// Those of the plan's files that a state calls verified. Empty: the text is no state.
std::optional<VerifiedFiles> parseDownloadState(std::string_view text, const DownloadPlan& plan);

struct ReclaimLedger {
    std::set<std::string> names;
    bool isWhole = true; // it ends with a line feed
};
// A last line that was torn is none: no deletion followed it.
ReclaimLedger parseLedger(std::string_view text);

} // namespace waste
