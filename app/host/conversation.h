#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace waste::host {

// One part of a message (spec: desktop 3.7). `text` is what was written; for a tool call its arguments.
struct Block {
    enum class Type : std::uint8_t { Text, Thinking, Image, File, ToolCall, ToolResult, Other };
    Type type = Type::Text;
    std::string text;
    std::string name; // Image, File, ToolCall
    std::string callId; // ToolCall, ToolResult
    std::string sha256; // Image, File: the attachment
    std::uint64_t bytes = 0;
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    bool half = false; // Image: shown to the model at about half its positions
    std::uint32_t positions = 0; // Image: of the context, as the model that it was attached for saw it; 0: not known
};

enum class Role : std::uint8_t { User, Assistant, System, Tool };
enum class MessageState : std::uint8_t { Queued, Reading, Answering, Stopped, Interrupted, Done };

struct AnswerTimings {
    std::uint64_t queuedMs = 0;
    std::uint64_t readMs = 0;
    std::uint64_t firstTokenMs = 0; // from the start of reading to the first token
    std::uint64_t answerMs = 0;
    std::uint64_t promptTokens = 0;
    std::uint64_t tokens = 0;
    std::uint64_t thinkingTokens = 0; // contained in `tokens`
    std::uint64_t thinkingMs = 0; // from the start of reading to the last of them
    std::uint64_t bytesRead = 0;
    std::string seed;
};

struct Message {
    std::string id;
    std::string parent; // empty: the first of its conversation
    Role role = Role::User;
    std::vector<Block> blocks;
    MessageState state = MessageState::Done;
    std::string reason; // why it was stopped or interrupted
    std::string modelName; // of an answer
    AnswerTimings timings;
    std::string timeUtc; // 2026-11-29T15:00:00Z

    [[nodiscard]] std::string textOf(Block::Type type) const; // of all blocks of that type, joined
    void append(Block::Type type, std::string_view text); // to the last block, or as a block of its own
};

// A place in the journal that could not be read: shown before the message that follows it.
struct SkippedLine {
    std::uint64_t lineNumber = 0; // counts from 1
    std::size_t messageIndex = 0; // how many messages stood before it
};

// What a journal says. A value.
struct Conversation {
    std::string id;
    std::string createdUtc;
    std::string updatedUtc;
    std::string title;
    std::string modelName;
    std::string system;
    std::string leaf; // the message that ends the branch on screen; empty: the last one
    bool pinned = false;
    bool deleted = false;
    bool newerSchema = false; // written by a newer version: may be read only
    std::vector<Message> messages; // in the order in which they were begun
    std::vector<SkippedLine> skippedLines;

    [[nodiscard]] const Message* find(std::string_view messageId) const;
    Message* find(std::string_view messageId);
    struct BranchEntry {
        const Message* message = nullptr;
        std::size_t siblingIndex = 0; // counts from 0, oldest first
        std::size_t siblingCount = 1; // messages with the same parent, this one among them
    };
    using Branch = std::vector<BranchEntry>;
    // From the first message to the leaf, or to the given one.
    [[nodiscard]] Branch branch() const { return branchTo(leaf); }
    [[nodiscard]] Branch branchTo(std::string_view messageId) const;
    // The sibling `step` places after (or before) this one; null where there is none.
    [[nodiscard]] const Message* sibling(const Message& message, int step) const;
    // The newest message below this one, following the newest child each time; itself if it has none.
    [[nodiscard]] const Message& newestBelow(const Message& message) const;
};

// C0 and DEL: never part of a line of text.
constexpr bool isControl(char c)
{
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

// Names as they stand in journals.
std::string_view nameOf(Block::Type type);
std::string_view nameOf(Role role);
std::string_view nameOf(MessageState state);
std::optional<Block::Type> blockType(std::string_view name);
std::optional<Role> role(std::string_view name);
std::optional<MessageState> messageState(std::string_view name);

} // namespace waste::host
