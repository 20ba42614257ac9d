// Journals of conversations, as a crash, a disk or somebody else may leave them.

#include "host/journal_reader.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    using namespace waste::host;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const auto content = readJournal(bytes);
    if (!content)
        return 0;
    // What is read is a tree, and compaction keeps its messages.
    if (content->conversation.branch().size() > content->conversation.messages.size())
        std::abort();
    const auto compacted = readJournal(compactJournal(bytes.substr(0, content->goodBytes)));
    if (!compacted || compacted->conversation.messages.size() != content->conversation.messages.size())
        std::abort();
    return 0;
}
