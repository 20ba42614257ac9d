#pragma once

#include "host/task_thread.h"
#include "waste/result.h"
#include "waste/types.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace waste::host {

// What the engine is doing. There is one truth; window and command line put it into words.
struct EngineStatus {
    enum class Phase : std::uint8_t {
        NoModel,
        Opening, // done of total bytes of the trunk
        Ready,
        Reading, // done of total tokens of the prompt
        Thinking, // tokenCount tokens so far
        Answering,
        Stopping, // until the layer at work is finished
        Stopped, // an answer was stopped and can be continued
        Failed, // see error; the model may still be open
    };
    using Clock = std::chrono::steady_clock;

    Phase phase = Phase::NoModel;
    std::string modelName; // empty: no model is open
    std::string answerId; // whose answer is being read or written, or was stopped
    std::uint64_t done = 0;
    std::uint64_t total = 0;
    std::uint32_t tokenCount = 0; // of the reply
    std::uint32_t thinkingTokenCount = 0; // contained in it
    double tokensPerSecond = 0; // over the last ten seconds; 0 until two tokens came
    std::chrono::milliseconds left{0}; // Reading: estimate; 0: not known
    Clock::time_point since = {}; // when this opening or answer began
    std::uint32_t contextTokens = 0;
    std::uint64_t usedTokens = 0; // evaluated tokens of the conversation in the engine
    std::uint64_t budgetBytes = 0;
    Error error; // Failed
};

struct OpenModelRequest {
    std::filesystem::path model;
    std::uint64_t budgetBytes = 0; // 0: by the rule of the memory plan
    std::uint32_t contextTokens = 4096;
    std::uint64_t programBytes = 0; // see MemoryPlan::Request
};

// One answer. The prompt is a chat request in OpenAI's JSON.
struct AnswerRequest {
    std::string id; // of the answer: the message that will hold it
    std::string requestJson; // {"messages":[…]} up to the question
    // An unfinished reply to go on with, as an assistant message; empty: a new reply.
    std::string partialMessageJson;
    bool thinking = true;
    std::string effort = "low"; // low, high, max, none
    std::uint32_t tokensMax = 0; // 0: what the context holds
    std::optional<std::uint64_t> seed; // none: random where the sampling draws at all
};

struct ReplyText {
    enum class Channel : std::uint8_t { Thinking, Content };
    std::string answerId;
    Channel channel = Channel::Content;
    std::string text;
    std::uint32_t tokenCount = 0; // of the reply, this one included
};

struct ReplyToolCall {
    std::string answerId;
    std::string callId;
    std::string name;
    std::string arguments;
};

struct ReplyBegan { // reading is over
    std::string answerId;
};

struct ReplyEnded {
    enum class Reason : std::uint8_t { Done, Limit, ContextFull, Stopped, Failed };
    std::string answerId;
    Reason reason = Reason::Done;
    Error error; // Failed
    bool answerIsEmpty = false; // the model ended inside its thinking
    std::uint64_t promptTokens = 0;
    std::uint64_t reusedTokens = 0; // of the prompt: read for an earlier answer
    std::uint64_t tokens = 0;
    std::uint64_t bytesRead = 0;
    std::uint64_t expertHits = 0;
    std::uint64_t expertMisses = 0;
    std::chrono::milliseconds queued{0};
    std::chrono::milliseconds reading{0};
    std::chrono::milliseconds answering{0};
    std::string seed; // of the sampling; empty: greedy
};

struct AnswerStarted { // its turn has come
    std::string answerId;
};

using EngineEvent = std::variant<EngineStatus, AnswerStarted, ReplyBegan, ReplyText, ReplyToolCall, ReplyEnded>;

// One engine and the one thread that works it (design: one per open model). Commands are queued and come
// back as events on that thread; no command blocks its caller. Any thread may call.
class EngineHost {
public:
    using Sink = std::function<void(const EngineEvent&)>;

    explicit EngineHost(Sink sink);
    ~EngineHost(); // stops what runs; queued answers end as Stopped
    EngineHost(const EngineHost&) = delete;
    EngineHost& operator=(const EngineHost&) = delete;

    void openModel(OpenModelRequest request); // closes the one before it
    void closeModel();
    void answer(AnswerRequest request);
    // Ends that answer after the layer at work, or takes it out of the queue. Its text and the state stay.
    void stop(const std::string& answerId);
    void stopOpening();

    [[nodiscard]] EngineStatus status() const;
};

} // namespace waste::host
