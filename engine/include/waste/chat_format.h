#pragma once

#include "waste/result.h"
#include "waste/tokenizer.h"
#include "waste/types.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace waste {

// A prompt is a list of segments that are encoded one by one and never joined (spec: chat 1). Text that
// somebody wrote is Plain and can never become a control token.
struct Segment {
    enum class Kind : std::uint8_t {
        Plain, // ordinary text
        Markup, // special texts become control tokens; written by the renderer only
        Image, // markup around one picture, with a single <|media_pad|>
    };
    Kind kind = Kind::Plain;
    std::string text;
    std::uint32_t imageWidth = 0; // Image: pixels of the source picture
    std::uint32_t imageHeight = 0;
};

enum class ReplyChannel : std::uint8_t { Think, Response };

// A rendered conversation. A value.
struct Prompt {
    std::vector<Segment> segments;
    // messageEnds[0]: how many segments the head has (tools, effort note); messageEnds[k]: how many there
    // are up to the end of the k-th message in rendered order. The rest are notes and generation prompt.
    std::vector<std::size_t> messageEnds;
    std::vector<std::string> declaredTools; // names, for ReplyReader
    bool thinking = false;
    std::string effort; // low, high, max; empty: no note
    ReplyChannel startChannel = ReplyChannel::Response; // what the generation prompt left open
};

// The ids of `segments`. The placeholder of the k-th Image segment is repeated imageTokenCounts[k] times;
// without counts it stays single. Errors: InvalidArgument (number of counts, a text over the limit, a
// picture for a model without the placeholder token).
Result<std::vector<TokenId>> encodeSegments(const Tokenizer& tokenizer, std::span<const Segment> segments,
    std::span<const std::uint32_t> imageTokenCounts = {});

// An image part of a message as the client wrote it.
struct ImageReference {
    enum class Kind : std::uint8_t { Url, Path, Data };
    Kind kind = Kind::Url; // Url: also data: URLs, and whatever else a plain string holds
    std::string value;
    std::string place; // "messages[0].content[1]", for messages
};
struct ImageSize {
    std::uint32_t width = 0;
    std::uint32_t height = 0;
};
// Gives the pixel size of a picture. Called in the order in which the pictures enter the prompt, which
// need not be the order of the request: a caller that keeps the pictures it was asked for has them right.
using ImageResolver = std::function<Result<ImageSize>(const ImageReference&)>;

// What holds where the request says nothing (spec: server 3.4).
struct RenderOptions {
    bool thinking = true;
    std::string effort = "low"; // low, high, max, or none = no note
    bool addGenerationPrompt = true;
    ImageResolver image = {}; // empty: an image part is refused
};

struct ReplyDelta {
    std::string reasoning;
    std::string content;
    std::vector<std::size_t> calls; // positions of the tool calls that changed, ascending
    [[nodiscard]] bool isEmpty() const { return reasoning.empty() && content.empty() && calls.empty(); }
};

struct ToolCall {
    std::string id; // of the model, or call_ and 24 random hex digits
    std::optional<std::string> idAttribute; // what the model wrote
    std::string name;
    std::int32_t index = 0; // counts from 1
    std::string arguments; // JSON of an object, or verbatim what a json element held
    bool rawJson = false; // there was a json element
    bool complete = false; // its element was closed, or the message ended
    bool declared = false; // a tool of the request
};

// Reads one reply while it is generated: token ids in, reasoning, content and tool calls out. Structure is
// decided by ids alone; a marker that is spelled out of ordinary tokens is text. Never fails: a truncated
// answer is worth more than an error. One thread at a time.
class ReplyReader {
public:
    struct Options {
        ReplyChannel start = ReplyChannel::Response;
        std::vector<std::string> stopStrings = {}; // end the reply where they appear in the content; not shown
        std::vector<std::string> declaredTools = {};
    };
    ~ReplyReader();
    ReplyReader(ReplyReader&&) noexcept;
    ReplyReader& operator=(ReplyReader&&) noexcept;

    // What this input added. The concatenation of all deltas equals the totals.
    ReplyDelta feed(TokenId id);
    ReplyDelta finish(); // once, when no more tokens come

    [[nodiscard]] bool isOver() const; // a stop token or stop string came: no use in generating more
    [[nodiscard]] bool messageEnded() const; // by the format's own end marker
    [[nodiscard]] bool stopStringMatched() const;
    [[nodiscard]] bool isReasoning() const; // text that came now would be reasoning

    [[nodiscard]] const std::string& reasoning() const;
    [[nodiscard]] const std::string& content() const;
    [[nodiscard]] std::size_t callCount() const;
    [[nodiscard]] ToolCall call(std::size_t position) const; // as far as it has come
    [[nodiscard]] std::uint32_t droppedCalls() const; // without a name, or beyond the limit
    [[nodiscard]] bool answerIsEmpty() const; // the model ended inside its thinking
    // The reply so far as an OpenAI message: role, content, reasoning_content, tool_calls.
    [[nodiscard]] std::string messageJson() const;

    struct State; // engine/prompt
    explicit ReplyReader(std::unique_ptr<State> state);

private:
    std::unique_ptr<State> m_state;
};

// How a model's conversations become prompts and its tokens become replies (spec: chat).
// Immutable, any thread.
class ChatFormat {
public:
    enum class Kind : std::uint8_t {
        Xtml, // native format of K3: thinking, tools, response formats
        Template, // prefixes and suffixes of chat.json or of a preset
        Raw, // the messages' texts and nothing else
    };
    enum class Choice : std::uint8_t { Automatic, Template, Raw };

    // Automatic: the first of the three that fits. Errors: Corrupt (chat.json), Io; NotFound when a
    // template is asked for and there is none.
    static Result<std::shared_ptr<const ChatFormat>> open(const std::filesystem::path& modelDirectory,
        std::shared_ptr<const Tokenizer> tokenizer, Choice choice = Choice::Automatic);
    ~ChatFormat();
    ChatFormat(const ChatFormat&) = delete;
    ChatFormat& operator=(const ChatFormat&) = delete;

    [[nodiscard]] Kind kind() const;
    [[nodiscard]] std::string_view name() const; // "xtml", "template", "raw"
    [[nodiscard]] bool hasThinking() const { return kind() == Kind::Xtml; }
    [[nodiscard]] const Tokenizer& tokenizer() const;
    [[nodiscard]] std::span<const std::string> warnings() const; // what the user should know about this model
    [[nodiscard]] std::span<const TokenId> stopIds() const; // for GenerateOptions

    // One OpenAI chat request (messages, tools, tool_choice, response_format, thinking and effort fields), or
    // only its array of messages. Errors: InvalidArgument; the message begins with the field's path, reason
    // unsupported_feature where the format lacks the feature. The resolver's errors are passed on.
    [[nodiscard]] Result<Prompt> render(std::string_view requestJson, const RenderOptions& options) const;
    // The renderer alone, without defaults: one `input` of the render cases (spec: cli B.9). Xtml only.
    [[nodiscard]] Result<Prompt> renderInput(std::string_view inputJson) const;

    [[nodiscard]] ReplyReader readReply(const ReplyReader::Options& options) const;
    // [{"text","markup"} or {"id"}, …] → {"deltas":[…],"final":{…}} (spec: cli B.9).
    [[nodiscard]] Result<std::string> readReplyJson(std::string_view tokensJson, ReplyChannel start) const;

    // Which ids are still missing after the sampled reply, so that the state stands exactly where it would
    // stand behind the rendered `messageJson` (an assistant message of the reply's content). None: the reply
    // is not a beginning of that rendering, and the state before the reply has to be used.
    [[nodiscard]] Result<std::optional<std::vector<TokenId>>> closeReply(
        std::span<const TokenId> sampled, std::string_view messageJson, bool thinking) const;

private:
    struct Data;
    explicit ChatFormat(std::unique_ptr<const Data> data);
    std::unique_ptr<const Data> m_data;
};

} // namespace waste
