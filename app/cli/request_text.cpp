#include "cli/request_text.h"

#include "cli/text_input.h"

#include <nlohmann/json.hpp>

namespace waste::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::string_view kBlanks = " \t\r\n";

// The file's text; only a look at its kind, because the renderer reads JSON more exactly than the library.
Result<std::string> readJson(const std::string& file, ordered_json::value_t kind, const char* expected)
{
    WASTE_TRY(std::string text, readInput(file));
    if (ordered_json::parse(text, nullptr, false).type() != kind)
        return Error{ErrorCode::InvalidArgument, "", file + " is not " + expected};
    return text;
}

} // namespace

std::string requestFor(const std::vector<std::string>& messages)
{
    std::string request;
    for (const std::string& message : messages)
        request += (request.empty() ? "" : ",") + message;
    return "{\"messages\":[" + request + "]}";
}

std::string systemMessage(std::string_view text)
{
    return ordered_json{{"role", "system"}, {"content", text}}.dump(
        -1, ' ', false, ordered_json::error_handler_t::replace);
}

std::string requestWith(std::string_view requestOrMessages, const std::vector<RequestMember>& members)
{
    const auto first = requestOrMessages.find_first_not_of(kBlanks);
    const auto last = requestOrMessages.find_last_not_of(kBlanks);
    if (first == std::string_view::npos)
        return std::string(requestOrMessages);
    std::string request(requestOrMessages.substr(first, last - first + 1));
    if (request.front() == '[')
        request = "{\"messages\":" + request + "}";
    if (members.empty() || request.front() != '{' || request.back() != '}')
        return request;
    request.pop_back();
    bool isEmpty = request.find_last_not_of(kBlanks) == 0;
    for (const RequestMember& member : members) {
        request += (isEmpty ? "" : ",") + ordered_json(member.name).dump() + ":" + member.json;
        isEmpty = false;
    }
    return request + "}";
}

Result<std::vector<RequestMember>> readRequestFiles(const RequestFiles& files)
{
    std::vector<RequestMember> members;
    if (files.tools) {
        WASTE_TRY(std::string tools, readJson(*files.tools, ordered_json::value_t::array, "a JSON array of tools"));
        members.push_back({"tools", std::move(tools)});
    }
    if (files.schema) {
        WASTE_TRY(const std::string schema, readJson(*files.schema, ordered_json::value_t::object, "a JSON schema"));
        members.push_back({"response_format", R"({"type":"json_schema","json_schema":{"schema":)" + schema + "}}"});
    }
    return members;
}

} // namespace waste::cli
