#pragma once

#include "waste/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace waste::cli {

// A chat request of these messages, each of them JSON.
std::string requestFor(const std::vector<std::string>& messages);
// A system prompt as such a message.
std::string systemMessage(std::string_view text);

// A request file holds a chat request or only its array of messages. Members are added to it as text, so
// that the numbers inside stay as they were written; a member that is there already is replaced. Whether all
// this is valid JSON is for the renderer to say.
struct RequestMember {
    std::string_view name;
    std::string json;
};
std::string requestWith(std::string_view requestOrMessages, const std::vector<RequestMember>& members);

// --tools FILE and --schema FILE as members. Errors: those of reading; InvalidArgument for other JSON.
struct RequestFiles {
    std::optional<std::string> tools;
    std::optional<std::string> schema;
};
Result<std::vector<RequestMember>> readRequestFiles(const RequestFiles& files);

} // namespace waste::cli
