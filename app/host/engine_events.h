#pragma once

#include "host/conversation.h"
#include "host/reading_pace.h"
#include "waste/chat_format.h"
#include "waste/picture.h"
#include "waste/result.h"
#include "waste/session.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace waste::host {

// What the engine is doing. There is one truth; window and command line put it into words.
struct EngineStatus {
    enum class Phase : std::uint8_t {
        NoModel,
        Opening, // done of total bytes of the trunk
        Ready,
        Looking, // at a picture: done of total blocks of the vision tower
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
    std::chrono::milliseconds thinking{0}; // from the start of reading to the last of them
    double tokensPerSecond = 0; // over the last ten seconds; 0 until two tokens came
    bool isPaging = false; // the last token came while the machine was short of memory
    std::chrono::milliseconds left{0}; // Reading: estimate; 0: not known
    Clock::time_point since = {}; // when this opening or answer began
    ReadingPace pace; // of the model that is open
    std::uint32_t contextTokens = 0;
    std::uint64_t usedTokens = 0; // evaluated tokens of the conversation in the engine
    std::uint64_t budgetBytes = 0;
    std::uint64_t pictureBytes = 0; // contained in the budget: the room that a picture needs
    std::uint64_t programBytes = 0; // contained in the budget: the front end itself
    std::uint64_t visionBytes = 0; // of the vision tower and its buffers while they are in memory
    std::string pictureName; // Looking
    Error error; // Failed
};

struct OpenModelRequest {
    std::filesystem::path model;
    std::uint64_t budgetBytes = 0; // 0: by the rule of the memory plan
    std::uint32_t contextTokens = 4096;
    std::uint64_t programBytes = 0; // see MemoryPlan::Request
};

// A picture of a conversation, as a file of its own.
struct AttachedPicture {
    std::string name; // for messages
    std::filesystem::path file;
    PictureDetail detail = PictureDetail::Full;
    std::filesystem::path rowsFile = {}; // where what the model saw is kept; empty: in memory alone
};

// One answer.
struct AnswerRequest {
    std::string id; // of the answer: the message that will hold it
    std::vector<std::string> messages; // of a chat request, each as JSON, up to the question
    // An image part {"type": "image", "image": {"path": "k"}} of a message is the k-th of these.
    std::vector<AttachedPicture> pictures = {};
    std::string partialMessage; // an unfinished reply to go on with, as an assistant message; empty: a new reply
    bool thinking = true;
    std::string effort = "low"; // low, high, max, none
    std::uint32_t tokensMax = 0; // 0: what the context holds
    std::optional<std::uint64_t> seed; // none: random where the sampling draws at all
    std::optional<SamplingOptions> sampling; // none: as recommended for the model; its own seed is not used
    std::vector<std::string> stopStrings; // end the reply where they appear in its content
    AnswerTimings timings; // of the partial message; those of the reply go on from them
};

struct ReplyText {
    enum class Channel : std::uint8_t { Thinking, Content };
    std::string answerId;
    Channel channel = Channel::Content;
    std::string text;
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
    std::vector<ToolCall> calls;
    std::uint64_t reusedTokens = 0; // of the prompt: read for an earlier answer
    std::uint64_t expertHits = 0;
    std::uint64_t expertMisses = 0;
    AnswerTimings timings; // of the whole answer

    void endWith(Error why) // Stopped if it was cancelled, else Failed
    {
        reason = why.code == ErrorCode::Cancelled ? Reason::Stopped : Reason::Failed;
        error = std::move(why);
    }
};

struct AnswerStarted { // its turn has come
    std::string answerId;
};

using EngineEvent = std::variant<EngineStatus, AnswerStarted, ReplyBegan, ReplyText, ReplyEnded>;

} // namespace waste::host
