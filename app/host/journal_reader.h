#pragma once

#include "host/conversation.h"
#include "waste/result.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace waste::host {

inline constexpr int kJournalSchema = 1;
inline constexpr std::size_t kJournalLineBytesMax = std::size_t{16} << 20;
inline constexpr int kJournalDepthMax = 64;

struct JournalContent {
    Conversation conversation;
    std::uint64_t goodBytes = 0; // up to here the file is whole; what follows was torn by a crash
    std::uint64_t lastSequence = 0;
    std::string badLines; // the text of the lines that had to be skipped
};

// Reads a journal as far as it goes (spec: desktop 3.7, Reading). Error Corrupt: this folder has to be put
// aside; the message says why. Reasons: first_line, long_line, deep_line.
Result<JournalContent> readJournal(std::string_view bytes);

// The same journal with joined `text` lines and without `set` and `state` lines that later ones replace.
// Lines and fields of unknown kinds stay. `bytes` is a whole journal (goodBytes long).
std::string compactJournal(std::string_view bytes);

} // namespace waste::host
