#include "host/conversation.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace waste::host {

namespace {

using namespace std::string_view_literals;

// Names in the order of the enum's values.
constexpr std::array kBlockTypes = {"text"sv, "thinking"sv, "image"sv, "file"sv, "tool_call"sv, "tool_result"sv};
constexpr std::array kRoles = {"user"sv, "assistant"sv, "system"sv, "tool"sv};
constexpr std::array kStates = {"queued"sv, "reading"sv, "answering"sv, "stopped"sv, "interrupted"sv, "done"sv};

template<typename Enum, std::size_t Count>
std::optional<Enum> valueNamed(const std::array<std::string_view, Count>& names, std::string_view name)
{
    const auto found = std::find(names.begin(), names.end(), name);
    return found == names.end() ? std::nullopt : std::optional(static_cast<Enum>(found - names.begin()));
}

} // namespace

std::string Message::textOf(Block::Type type) const
{
    std::string text;
    for (const Block& block : blocks) {
        if (block.type == type)
            text += block.text;
    }
    return text;
}

void Message::append(Block::Type type, std::string_view text)
{
    if (blocks.empty() || blocks.back().type != type) {
        blocks.emplace_back();
        blocks.back().type = type;
    }
    blocks.back().text += text;
}

// From the end: a journal mostly speaks of its newest message.
Message* Conversation::find(std::string_view messageId)
{
    const auto found = std::find_if(
        messages.rbegin(), messages.rend(), [messageId](const Message& message) { return message.id == messageId; });
    return found == messages.rend() ? nullptr : &*found;
}

const Message* Conversation::find(std::string_view messageId) const
{
    return const_cast<Conversation*>(this)->find(messageId);
}

// Terminates for every journal: a parent always stands before its children (see apply()).
Conversation::Branch Conversation::branchTo(std::string_view messageId) const
{
    if (messages.empty())
        return {};
    std::unordered_map<std::string_view, const Message*> byId;
    std::unordered_map<std::string_view, std::size_t> childCounts; // so far, by parent
    std::unordered_map<const Message*, std::size_t> siblingIndexes;
    for (const Message& message : messages) {
        byId[message.id] = &message;
        siblingIndexes[&message] = childCounts[message.parent]++;
    }
    const auto end = byId.find(messageId);
    const Message* message = end == byId.end() ? &messages.back() : end->second;
    Branch entries;
    while (message != nullptr) {
        entries.push_back({message, siblingIndexes[message], childCounts[message->parent]});
        const auto parent = byId.find(message->parent);
        message = parent == byId.end() ? nullptr : parent->second;
    }
    std::reverse(entries.begin(), entries.end());
    return entries;
}

const Message* Conversation::sibling(const Message& message, int step) const
{
    std::vector<const Message*> siblings;
    std::ptrdiff_t place = 0;
    for (const Message& other : messages) {
        if (other.parent != message.parent)
            continue;
        if (other.id == message.id)
            place = std::ssize(siblings);
        siblings.push_back(&other);
    }
    const std::ptrdiff_t wanted = place + step;
    return wanted < 0 || wanted >= std::ssize(siblings) ? nullptr : siblings[static_cast<std::size_t>(wanted)];
}

const Message& Conversation::newestBelow(const Message& message) const
{
    std::unordered_map<std::string_view, const Message*> newestChildren;
    for (const Message& child : messages)
        newestChildren[child.parent] = &child;
    const Message* newest = &message;
    for (auto child = newestChildren.find(newest->id); child != newestChildren.end();
         child = newestChildren.find(newest->id))
        newest = child->second;
    return *newest;
}

std::string_view nameOf(Block::Type type)
{
    const auto place = static_cast<std::size_t>(type);
    return place < kBlockTypes.size() ? kBlockTypes[place] : "other"sv;
}

std::string_view nameOf(Role role)
{
    return kRoles[static_cast<std::size_t>(role)];
}

std::string_view nameOf(MessageState state)
{
    return kStates[static_cast<std::size_t>(state)];
}

std::optional<Block::Type> blockType(std::string_view name)
{
    return valueNamed<Block::Type>(kBlockTypes, name);
}

std::optional<Role> role(std::string_view name)
{
    return valueNamed<Role>(kRoles, name);
}

std::optional<MessageState> messageState(std::string_view name)
{
    return valueNamed<MessageState>(kStates, name);
}

} // namespace waste::host
