#pragma once

#include "cli/output.h"
#include "host/conversation_store.h"

#include "waste/result.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace waste::cli {

// The store that the window uses too. Tells what had to be put aside.
Result<host::ConversationStore> openStore(Output& output);

// NAME is an id, an unambiguous beginning of one, or a title; of several with that title the newest, which is
// said. Errors: NotFound with the nearest title, InvalidArgument for an ambiguous beginning.
Result<std::string> findConversation(host::ConversationStore& store, std::string_view name, Output& output);

// "Untitled" conversations are known by their beginning.
std::string titleOf(const host::ConversationSummary& summary);

// The branch on screen as people read it, who said what: the last `messagesMax` messages of it.
std::string transcript(const host::Conversation& conversation, std::size_t messagesMax = SIZE_MAX);

} // namespace waste::cli
