#pragma once

#include "waste/result.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace waste::cli {

// A chat request with one question, and pictures in front of its words. The texts are well-formed UTF-8.
struct Question {
    std::string text;
    std::optional<std::string> system;
    std::vector<std::filesystem::path> pictures;
};
std::string requestFor(const Question& question);

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
