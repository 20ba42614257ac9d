#include "host/journal_reader.h"

#include "host/journal_lines.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace waste::host {

namespace {

// Joined `text` lines stay well below the limit for lines.
constexpr std::size_t kJoinedTextBytesMax = std::size_t{4} << 20;

struct Line {
    std::string_view text; // without LF
    std::optional<Json> json; // none: does not parse to an object
};

// How deeply brackets are nested, without parsing: a parser would have built the depths already.
int nestingDepth(std::string_view text)
{
    int depth = 0;
    int deepest = 0;
    bool inString = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (inString) {
            i += c == '\\' ? 1 : 0;
            inString = c != '"';
        } else if (c == '"') {
            inString = true;
        } else if (c == '{' || c == '[') {
            deepest = std::max(deepest, ++depth);
        } else if (c == '}' || c == ']') {
            --depth;
        }
    }
    return deepest;
}

std::optional<Json> parseObject(std::string_view text)
{
    Json json = Json::parse(text, nullptr, false);
    return json.is_object() ? std::optional(std::move(json)) : std::nullopt;
}

// The part of the file that counts: from the first NUL on it is the tail of a power loss, and a last line
// without LF was cut.
std::string_view withoutTornTail(std::string_view bytes)
{
    bytes = bytes.substr(0, bytes.find('\0'));
    const std::size_t end = bytes.rfind('\n');
    return bytes.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

std::string_view takeLine(std::string_view& rest)
{
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return line;
}

std::string kindOf(const Json& line)
{
    const auto kind = line.find("kind");
    return kind != line.end() && kind->is_string() ? kind->get<std::string>() : std::string();
}

Error corrupt(std::string reason, std::string message)
{
    return Error{ErrorCode::Corrupt, std::move(reason), std::move(message)};
}

Status readFirstLine(std::string_view text, Conversation& conversation)
{
    const auto line = parseObject(text);
    const auto schema = line ? line->find("schema") : Json::const_iterator();
    if (!line || kindOf(*line) != "conversation" || schema == line->end() || !schema->is_number_unsigned())
        return corrupt("first_line", "the journal does not begin with the line of a conversation");
    conversation.newerSchema = schema->get<std::uint64_t>() > static_cast<std::uint64_t>(kJournalSchema);
    if (const auto id = line->find("id"); id != line->end() && id->is_string())
        conversation.id = id->get<std::string>();
    if (const auto created = line->find("created_utc"); created != line->end() && created->is_string())
        conversation.createdUtc = created->get<std::string>();
    conversation.updatedUtc = conversation.createdUtc;
    return {};
}

} // namespace

Result<JournalContent> readJournal(std::string_view bytes)
{
    JournalContent content;
    Conversation& conversation = content.conversation;
    const std::string_view whole = withoutTornTail(bytes);
    if (whole.size() < bytes.size() && bytes[whole.size()] != '\0' && bytes.find('\0') == std::string_view::npos
        && bytes.size() - whole.size() > kJournalLineBytesMax)
        return corrupt("long_line", "the last line is longer than 16 MiB");
    JournalReplay replay(conversation);
    std::uint64_t lineNumber = 0;
    for (std::string_view rest = whole; !rest.empty();) {
        const std::string_view text = takeLine(rest);
        ++lineNumber;
        const std::string place = "line " + std::to_string(lineNumber);
        if (text.size() > kJournalLineBytesMax)
            return corrupt("long_line", place + " is longer than 16 MiB");
        if (nestingDepth(text) > kJournalDepthMax)
            return corrupt("deep_line", place + " is nested more than 64 deep");
        if (lineNumber == 1) {
            WASTE_TRY_STATUS(readFirstLine(text, conversation));
        } else if (const auto line = parseObject(text); line && replay.apply(*line)) {
            if (const auto sequence = line->find("seq"); sequence != line->end() && sequence->is_number_unsigned())
                content.lastSequence = std::max(content.lastSequence, sequence->get<std::uint64_t>());
        } else if (!line && rest.empty()) {
            break; // a last line that does not parse is torn, its LF notwithstanding
        } else {
            conversation.skippedLines.push_back({lineNumber, conversation.messages.size()});
            content.badLines.append(text).append("\n");
        }
        content.goodBytes = whole.size() - rest.size();
    }
    if (content.goodBytes == 0)
        return corrupt("first_line", "the journal has no complete first line");
    return content;
}

namespace {

// A `set` or `state` line goes when each of its fields stands in a later one (of the same message).
void dropReplacedLines(std::vector<Line>& lines)
{
    std::map<std::string, std::set<std::string>> later; // by message; "" is the conversation
    for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
        const std::string kind = line->json ? kindOf(*line->json) : std::string();
        if (kind != "set" && kind != "state")
            continue;
        const auto id = line->json->find("id");
        auto& seen = later[kind == "state" && id != line->json->end() ? id->dump() : std::string()];
        bool replaced = true;
        for (const auto& [field, value] : line->json->items()) {
            if (field != "kind" && field != "seq" && field != "time_utc" && field != "id")
                replaced &= !seen.insert(field).second;
        }
        if (replaced)
            line->text = {};
    }
    std::erase_if(lines, [](const Line& line) { return line.text.empty(); });
}

// What a block gained goes into the first line that speaks of it: blocks keep their order that way.
void joinTextLines(std::vector<Line>& lines)
{
    std::map<std::tuple<std::string, std::string, std::string>, Json*> firsts; // by id, block, type
    for (Line& line : lines) {
        if (!line.json || kindOf(*line.json) != "text")
            continue;
        Json& json = *line.json;
        if (!json.contains("id") || !json.contains("block") || !json.contains("type") || !json.contains("text")
            || !json["text"].is_string())
            continue;
        Json*& first = firsts[{json["id"].dump(), json["block"].dump(), json["type"].dump()}];
        auto* joined = first != nullptr ? (*first)["text"].get_ptr<std::string*>() : nullptr;
        const auto& text = json["text"].get_ref<const std::string&>();
        if (joined == nullptr || joined->size() + text.size() > kJoinedTextBytesMax) {
            first = &json;
            continue;
        }
        *joined += text;
        for (const auto& [field, value] : json.items()) {
            if (!first->contains(field))
                (*first)[field] = value;
        }
        line.text = {};
    }
    std::erase_if(lines, [](const Line& line) { return line.text.empty(); });
}

} // namespace

std::string compactJournal(std::string_view bytes)
{
    std::vector<Line> lines;
    for (std::string_view rest = bytes; !rest.empty();) {
        const std::string_view text = takeLine(rest);
        if (!text.empty())
            lines.push_back({text, parseObject(text)});
    }
    dropReplacedLines(lines);
    joinTextLines(lines);
    std::string compacted;
    for (const Line& line : lines) {
        if (line.json && kindOf(*line.json) == "text")
            compacted += line.json->dump(-1, ' ', false, Json::error_handler_t::replace);
        else
            compacted += line.text; // byte for byte: nothing of another version is lost
        compacted += '\n';
    }
    return compacted;
}

} // namespace waste::host
