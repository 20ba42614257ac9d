// The engine on its thread with the real built-in model: what was read once is not read again, a stopped
// answer goes on exactly where it stood, and no command blocks its caller.

#include "host/chat_request.h"
#include "host/engine_host.h"

#include <QTest>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

using namespace waste;
using namespace waste::host;

namespace {

using Phase = EngineStatus::Phase;
using Reason = ReplyEnded::Reason;

// Collects events; asked from the test's thread.
class Recorder {
public:
    EngineHost::Sink sink()
    {
        return [this](const EngineEvent& event) { take(event); };
    }
    std::optional<ReplyEnded> endOf(const std::string& id) const
    {
        const std::lock_guard lock(m_mutex);
        const auto found = m_ends.find(id);
        return found == m_ends.end() ? std::nullopt : std::optional(found->second);
    }
    std::string content(const std::string& id) const { return textOf(m_content, id); }
    std::string thinking(const std::string& id) const { return textOf(m_thinking, id); }
    std::vector<Phase> phases() const
    {
        const std::lock_guard lock(m_mutex);
        return m_phases;
    }
    std::string order(const std::string& id) const { return textOf(m_orders, id); }

    // Called on the engine's thread until `listening` is false; set before the engine exists.
    std::function<void(const EngineEvent&)> onEvent;
    std::atomic<bool> listening = true;

private:
    using Texts = std::map<std::string, std::string>;
    std::string textOf(const Texts& texts, const std::string& id) const
    {
        const std::lock_guard lock(m_mutex);
        const auto found = texts.find(id);
        return found == texts.end() ? std::string() : found->second;
    }
    void take(const EngineEvent& event)
    {
        {
            const std::lock_guard lock(m_mutex);
            if (const auto* status = std::get_if<EngineStatus>(&event)) {
                if (m_phases.empty() || m_phases.back() != status->phase)
                    m_phases.push_back(status->phase);
            } else if (const auto* started = std::get_if<AnswerStarted>(&event)) {
                m_orders[started->answerId] += 's';
            } else if (const auto* began = std::get_if<ReplyBegan>(&event)) {
                m_orders[began->answerId] += 'b';
            } else if (const auto* text = std::get_if<ReplyText>(&event)) {
                (text->channel == ReplyText::Channel::Content ? m_content : m_thinking)[text->answerId] += text->text;
                if (std::string& order = m_orders[text->answerId]; order.back() != 't')
                    order += 't';
            } else if (const auto* ended = std::get_if<ReplyEnded>(&event)) {
                m_orders[ended->answerId] += 'e';
                m_ends[ended->answerId] = *ended;
            }
        }
        if (listening && onEvent)
            onEvent(event);
    }

    mutable std::mutex m_mutex; // guards everything below
    std::map<std::string, ReplyEnded> m_ends;
    Texts m_content;
    Texts m_thinking;
    Texts m_orders;
    std::vector<Phase> m_phases;
};

using Messages = std::vector<std::string>;

std::string user(const std::string& text) // without anything that JSON escapes
{
    return R"({"role":"user","content":")" + text + "\"}";
}

std::string assistant(const std::string& content, const std::string& thinking)
{
    Message message;
    message.append(Block::Type::Thinking, thinking);
    message.append(Block::Type::Text, content);
    return assistantMessage(message);
}

AnswerRequest request(const std::string& id, Messages messages, bool thinking = true)
{
    AnswerRequest made;
    made.id = id;
    made.messages = std::move(messages);
    made.thinking = thinking;
    return made;
}

const Messages kStory{user("Tell me a story about a dog.")};

} // namespace

class TestEngineHost : public QObject {
    Q_OBJECT

    void open(EngineHost& host)
    {
        OpenModelRequest model;
        model.model = WASTE_K3_MINI_CONTAINER;
        host.openModel(model);
    }
    ReplyEnded waitFor(const Recorder& recorder, const std::string& id)
    {
        [&] { QTRY_VERIFY_WITH_TIMEOUT(recorder.endOf(id).has_value(), 60'000); }();
        return recorder.endOf(id).value_or(ReplyEnded());
    }

private Q_SLOTS:
    void anAnswerComesInItsOrderAndIsRight()
    {
        Recorder recorder;
        EngineHost host(recorder.sink());
        open(host);
        host.answer(request("a", Messages{user("What is the capital of Japan?")}));
        const ReplyEnded end = waitFor(recorder, "a");
        QCOMPARE(end.reason, Reason::Done);
        QVERIFY2(recorder.content("a").find("Tokyo") != std::string::npos, recorder.content("a").c_str());
        QVERIFY(!recorder.thinking("a").empty());
        QCOMPARE(recorder.order("a"), std::string("sbte"));
        QCOMPARE(recorder.phases(),
            (std::vector{
                Phase::Opening, Phase::Ready, Phase::Reading, Phase::Thinking, Phase::Answering, Phase::Ready}));
        QCOMPARE(end.reusedTokens, 0U);
        QVERIFY(end.timings.tokens > 3);
        QVERIFY(end.timings.promptTokens > 10);
        QCOMPARE(host.status().modelName, std::string("k3-mini"));
        QCOMPARE(host.status().usedTokens, end.timings.promptTokens + end.timings.tokens);
    }

    void theNextTurnReadsOnlyItself()
    {
        Recorder recorder;
        EngineHost host(recorder.sink());
        open(host);
        Messages messages = Messages{user("My name is Clara.")};
        host.answer(request("a", messages));
        const ReplyEnded first = waitFor(recorder, "a");
        messages.push_back(assistant(recorder.content("a"), recorder.thinking("a")));
        messages.push_back(user("What is my name?"));
        host.answer(request("b", messages));
        const ReplyEnded second = waitFor(recorder, "b");
        QVERIFY2(recorder.content("b").find("Clara") != std::string::npos, recorder.content("b").c_str());
        // All of the first turn, its answer too.
        QVERIFY(second.reusedTokens >= first.timings.promptTokens + first.timings.tokens - 1);
        QVERIFY(second.timings.promptTokens - second.reusedTokens < 30);

        // The same from nothing gives the same answer.
        Recorder freshRecorder;
        EngineHost fresh(freshRecorder.sink());
        open(fresh);
        fresh.answer(request("b", messages));
        QCOMPARE(waitFor(freshRecorder, "b").reusedTokens, 0U);
        QCOMPARE(freshRecorder.content("b"), recorder.content("b"));
        QCOMPARE(freshRecorder.thinking("b"), recorder.thinking("b"));
    }

    void tryingAgainGoesBackToTheQuestion()
    {
        Recorder recorder;
        EngineHost host(recorder.sink());
        open(host);
        const Messages messages = Messages{user("What is an expert?")};
        host.answer(request("a", messages));
        const ReplyEnded first = waitFor(recorder, "a");
        host.answer(request("b", messages));
        const ReplyEnded second = waitFor(recorder, "b");
        QCOMPARE(recorder.content("b"), recorder.content("a"));
        QVERIFY(second.reusedTokens > 0);
        QVERIFY(first.timings.promptTokens - second.reusedTokens < 20); // what opens the answer
        // Another conversation reads everything.
        host.answer(request("c", Messages{user("What is 2 + 3?")}, false));
        QCOMPARE(waitFor(recorder, "c").reusedTokens, 0U);
        QVERIFY(recorder.thinking("c").empty());
    }

    void aStoppedAnswerGoesOnWhereItStood()
    {
        Recorder whole;
        EngineHost host(whole.sink());
        open(host);
        host.answer(request("whole", kStory));
        QCOMPARE(waitFor(whole, "whole").reason, Reason::Done);

        for (const std::uint32_t stopAt : {1U, 2U, 7U, 20U}) {
            Recorder recorder;
            EngineHost* stopped = nullptr;
            recorder.onEvent = [&](const EngineEvent& event) {
                const auto* status = std::get_if<EngineStatus>(&event);
                if (status != nullptr && status->tokenCount == stopAt && status->answerId == "a"
                    && (status->phase == Phase::Thinking || status->phase == Phase::Answering))
                    stopped->stop("a");
            };
            EngineHost engine(recorder.sink());
            stopped = &engine;
            open(engine);
            engine.answer(request("a", kStory));
            const ReplyEnded half = waitFor(recorder, "a");
            QCOMPARE(half.reason, Reason::Stopped);
            QCOMPARE(half.timings.tokens, std::uint64_t{stopAt});
            QCOMPARE(engine.status().phase, Phase::Stopped);
            recorder.listening = false;

            AnswerRequest goOn = request("a", kStory);
            goOn.partialMessage = assistant(recorder.content("a"), recorder.thinking("a"));
            goOn.timings = half.timings;
            QTRY_COMPARE(engine.status().phase, Phase::Stopped);
            engine.answer(goOn);
            QTRY_VERIFY_WITH_TIMEOUT(recorder.endOf("a")->reason == Reason::Done, 60'000);
            const ReplyEnded end = *recorder.endOf("a");
            QCOMPARE(recorder.thinking("a"), whole.thinking("whole"));
            QCOMPARE(recorder.content("a"), whole.content("whole"));
            QCOMPARE(end.timings.tokens, whole.endOf("whole")->timings.tokens);
            if (!goOn.partialMessage.empty())
                QCOMPARE(end.reusedTokens, end.timings.promptTokens); // nothing is read twice
        }
    }

    void anAnswerFromBeforeARestartGoesOn()
    {
        Recorder whole;
        {
            EngineHost host(whole.sink());
            open(host);
            host.answer(request("whole", kStory));
            waitFor(whole, "whole");
        }
        const std::string content = whole.content("whole");
        for (const std::size_t kept : {std::size_t{0}, content.size() / 2}) {
            Recorder recorder;
            EngineHost host(recorder.sink());
            open(host);
            AnswerRequest goOn = request("a", kStory);
            // A piece of a word at the end is tokens that the model did not choose: it ends in a word.
            const std::string half = content.substr(0, kept == 0 ? 0 : content.rfind(' ', kept));
            goOn.partialMessage = assistant(half, whole.thinking("whole"));
            host.answer(goOn);
            QCOMPARE(waitFor(recorder, "a").reason, Reason::Done);
            QVERIFY2(recorder.thinking("a").empty(), recorder.thinking("a").c_str());
            QCOMPARE(half + recorder.content("a"), content);
        }
    }

    void aStopWhileReadingKeepsWhatWasRead()
    {
        std::string text;
        for (int i = 0; i < 120; ++i)
            text += "The capital of Japan is Tokyo. ";
        const Messages messages = Messages{user(text + "What is the capital of Japan?")};
        Recorder recorder;
        EngineHost* host = nullptr;
        recorder.onEvent = [&](const EngineEvent& event) {
            const auto* status = std::get_if<EngineStatus>(&event);
            if (status != nullptr && status->phase == Phase::Reading && status->done > 0)
                host->stop("a");
        };
        EngineHost engine(recorder.sink());
        host = &engine;
        open(engine);
        engine.answer(request("a", messages));
        const ReplyEnded end = waitFor(recorder, "a");
        QCOMPARE(end.reason, Reason::Stopped);
        QCOMPARE(end.timings.tokens, 0U);
        QTRY_COMPARE(engine.status().phase, Phase::Stopped);
        recorder.listening = false;
        engine.answer(request("b", messages));
        const ReplyEnded again = waitFor(recorder, "b");
        QCOMPARE(again.reason, Reason::Done);
        QVERIFY(again.reusedTokens >= 64);
    }

    void aStopInTheQueueIsToldAtOnce()
    {
        Recorder recorder;
        EngineHost host(recorder.sink());
        open(host);
        host.answer(request("a", kStory));
        AnswerRequest second = request("b", kStory);
        second.timings.tokens = 17; // of an answer that was to go on
        host.answer(second);
        host.stop("b");
        QVERIFY(recorder.endOf("b").has_value());
        QCOMPARE(recorder.endOf("b")->reason, Reason::Stopped);
        QCOMPARE(recorder.endOf("b")->timings.tokens, 17U);
        QCOMPARE(waitFor(recorder, "a").reason, Reason::Done);
        QCOMPARE(recorder.order("b"), std::string("e"));
    }

    void aConversationLongerThanTheContextIsRefusedInWords()
    {
        std::string text;
        for (int i = 0; i < 4000; ++i)
            text += "word word ";
        Recorder recorder;
        EngineHost host(recorder.sink());
        open(host);
        host.answer(request("a", Messages{user(text)}));
        const ReplyEnded end = waitFor(recorder, "a");
        QCOMPARE(end.reason, Reason::Failed);
        QVERIFY2(end.error.message.find("does not fit") != std::string::npos, end.error.message.c_str());
        host.answer(request("b", Messages{user("What is the capital of Japan?")}));
        QCOMPARE(waitFor(recorder, "b").reason, Reason::Done);
    }

    void failuresAreStates()
    {
        Recorder recorder;
        EngineHost host(recorder.sink());
        host.answer(request("a", kStory));
        QCOMPARE(waitFor(recorder, "a").error.reason, std::string("no_model"));
        OpenModelRequest missing;
        missing.model = "/nowhere/at-all.waste";
        host.openModel(missing);
        QTRY_VERIFY(host.status().error.message.find("at-all.waste") != std::string::npos);
        QCOMPARE(host.status().phase, Phase::Failed);
        open(host);
        host.answer(request("b", kStory));
        QCOMPARE(waitFor(recorder, "b").reason, Reason::Done);
    }

    void theEndDoesNotWaitForTheAnswer()
    {
        Recorder recorder;
        {
            EngineHost host(recorder.sink());
            open(host);
            for (int i = 0; i < 20; ++i)
                host.answer(request(std::to_string(i), kStory));
            QTRY_VERIFY(!recorder.order("0").empty());
        }
        QVERIFY(!recorder.endOf("19").has_value());
    }
};

QTEST_GUILESS_MAIN(TestEngineHost)
#include "tst_engine_host.moc"
