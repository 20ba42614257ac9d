#include "host/engine_host.h"

#include "host/chat_session.h"
#include "host/generation_defaults.h"
#include "host/task_thread.h"
#include "waste/container.h"
#include "waste/engine.h"
#include "waste/tokenizer.h"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

namespace waste::host {

namespace {

using Clock = EngineStatus::Clock;
using Phase = EngineStatus::Phase;

constexpr std::chrono::seconds kRateWindow{10};

std::chrono::milliseconds msSince(Clock::time_point start)
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
}

// Tokens a second over the last ten seconds.
class RateMeter {
public:
    double add(Clock::time_point now)
    {
        m_times.push_back(now);
        while (m_times.size() > 2 && now - m_times.front() > kRateWindow)
            m_times.pop_front();
        const double seconds = std::chrono::duration<double>(now - m_times.front()).count();
        return m_times.size() < 2 || seconds <= 0 ? 0 : static_cast<double>(m_times.size() - 1) / seconds;
    }

private:
    std::deque<Clock::time_point> m_times;
};

} // namespace

class EngineHost::Worker {
public:
    explicit Worker(Sink sink)
        : m_sink(std::move(sink))
    {
    }
    ~Worker();

    void openModel(OpenModelRequest request);
    void answer(AnswerRequest request);
    void stop(const std::string& answerId);
    void stopOpening();
    void releaseVision();
    EngineStatus status() const;
    std::shared_ptr<const Container> container() const;

private:
    // On the thread:
    void openNow(const OpenModelRequest& request);
    Status open(const OpenModelRequest& request);
    void answerNow(const AnswerRequest& request, Clock::time_point asked);
    ReplyEnded run(const AnswerRequest& request);
    ChatSession::Callbacks callbacksFor(const AnswerRequest& request);
    void closeNow();
    std::uint64_t visionBytes() const; // in memory now

    // Changes the status and tells about it.
    template<typename Change>
    void update(Change change);
    bool begin(const std::string& work); // false: it was cancelled while it waited

    const Sink m_sink;
    CancelFlag m_cancel; // of the work that runs
    mutable std::mutex m_mutex; // guards everything below
    EngineStatus m_status;
    std::string m_running; // an answer's id, or kOpening
    std::map<std::string, AnswerTimings> m_waiting; // answers in the queue; what they have so far
    bool m_ending = false;
    std::shared_ptr<const Container> m_container;

    // Used on the thread only:
    std::unique_ptr<Engine> m_engine;
    std::unique_ptr<ChatSession> m_session;
    TaskThread m_thread; // last: its tasks use everything above

    static constexpr const char* kOpening = "opening"; // no message's id, those are hexadecimal
};

EngineHost::Worker::~Worker()
{
    const std::lock_guard lock(m_mutex);
    m_ending = true;
    m_waiting.clear();
    m_cancel.cancel();
}

void EngineHost::Worker::openModel(OpenModelRequest request)
{
    m_thread.post([this, request = std::move(request)] { openNow(request); });
}

void EngineHost::Worker::answer(AnswerRequest request)
{
    {
        const std::lock_guard lock(m_mutex);
        m_waiting[request.id] = request.timings;
    }
    m_thread.post([this, request = std::move(request), asked = Clock::now()] { answerNow(request, asked); });
}

void EngineHost::Worker::stop(const std::string& answerId)
{
    decltype(m_waiting)::node_type waited;
    update([&](EngineStatus& status) {
        waited = m_waiting.extract(answerId);
        if (m_running != answerId)
            return;
        status.phase = Phase::Stopping;
        m_cancel.cancel();
    });
    if (!waited.empty()) {
        ReplyEnded ended;
        ended.timings = waited.mapped();
        ended.answerId = answerId;
        ended.reason = ReplyEnded::Reason::Stopped;
        m_sink(ended);
    }
}

void EngineHost::Worker::stopOpening()
{
    const std::lock_guard lock(m_mutex);
    if (m_running == kOpening)
        m_cancel.cancel();
}

void EngineHost::Worker::releaseVision()
{
    m_thread.post([this] {
        if (m_engine && m_engine->releaseVision())
            update([](EngineStatus& status) { status.visionBytes = 0; });
    });
}

std::uint64_t EngineHost::Worker::visionBytes() const
{
    return m_engine && m_engine->isVisionLoaded() ? m_engine->plan().visionExtraBytes : 0;
}

EngineStatus EngineHost::Worker::status() const
{
    const std::lock_guard lock(m_mutex);
    return m_status;
}

template<typename Change>
void EngineHost::Worker::update(Change change)
{
    EngineStatus copy;
    {
        const std::lock_guard lock(m_mutex);
        change(m_status);
        copy = m_status;
    }
    m_sink(copy);
}

bool EngineHost::Worker::begin(const std::string& work)
{
    const std::lock_guard lock(m_mutex);
    if (m_ending || (work != kOpening && m_waiting.erase(work) == 0))
        return false;
    m_running = work;
    m_cancel.reset();
    return true;
}

void EngineHost::Worker::openNow(const OpenModelRequest& request)
{
    if (!begin(kOpening))
        return;
    closeNow();
    update([](EngineStatus& status) {
        status = {};
        status.phase = Phase::Opening;
        status.since = Clock::now();
    });
    const Status opened = open(request);
    if (!opened)
        closeNow();
    update([&](EngineStatus& status) {
        status.phase = opened ? Phase::Ready : Phase::Failed;
        if (opened) {
            status.contextTokens = m_engine->plan().contextTokens;
            const MemoryPlan& plan = m_engine->plan();
            status.budgetBytes = plan.budgetBytes;
            status.pictureBytes = std::max(plan.visionBytes, plan.visionExtraBytes);
            status.programBytes = plan.programBytes;
            status.pace = m_session->pace();
        } else {
            status.modelName.clear();
            status.error = opened.error();
            if (opened.error().code == ErrorCode::Cancelled)
                status.phase = Phase::NoModel;
        }
        m_running.clear();
    });
}

Status EngineHost::Worker::open(const OpenModelRequest& request)
{
    WASTE_TRY(const auto container, Container::open(request.model));
    {
        const std::lock_guard lock(m_mutex);
        m_container = container;
    }
    const ModelInfo& info = container->info();
    update([&info](EngineStatus& status) { status.modelName = info.name; });
    WASTE_TRY(auto tokenizer, Tokenizer::open(request.model, info.endOfTextId));
    WASTE_TRY(auto format, ChatFormat::open(request.model, std::move(tokenizer)));
    const auto recommended = recommendedSampling(request.model, info.architecture);
    const SamplingOptions sampling = recommended ? *recommended : usualSampling(info.architecture);
    EngineOptions options;
    options.budgetBytes = request.budgetBytes;
    options.contextTokens = request.contextTokens;
    options.programBytes = request.programBytes;
    options.vision = VisionUse::WhenNeeded; // until the first picture the cache has that memory
    const ProgressSink progress = [this](const Progress& step) {
        update([&step](EngineStatus& status) {
            status.done = step.done;
            status.total = step.total;
        });
    };
    WASTE_TRY(m_engine, Engine::open(container, options, progress, &m_cancel));
    WASTE_TRY(auto session, m_engine->createSession());
    m_session = std::make_unique<ChatSession>(*m_engine, std::move(session), std::move(format), sampling);
    return {};
}

void EngineHost::Worker::closeNow()
{
    m_session.reset();
    m_engine.reset();
    const std::lock_guard lock(m_mutex);
    m_container.reset();
}

void EngineHost::Worker::answerNow(const AnswerRequest& request, Clock::time_point asked)
{
    if (!begin(request.id))
        return;
    const auto queued = msSince(asked);
    m_sink(AnswerStarted{request.id});
    ReplyEnded ended = run(request);
    ended.timings.queuedMs += static_cast<std::uint64_t>(queued.count());
    update([&](EngineStatus& status) {
        m_running.clear();
        status.usedTokens = m_session ? m_session->usedTokens() : 0;
        status.visionBytes = visionBytes();
        if (m_session)
            status.pace = m_session->pace();
        switch (ended.reason) {
        case ReplyEnded::Reason::Stopped:
            status.phase = Phase::Stopped;
            break;
        case ReplyEnded::Reason::Failed:
            status.phase = Phase::Failed;
            status.error = ended.error;
            break;
        default:
            status.phase = Phase::Ready;
            break;
        }
    });
    m_sink(ended);
}

ReplyEnded EngineHost::Worker::run(const AnswerRequest& request)
{
    ReplyEnded ended;
    ended.answerId = request.id;
    ended.timings = request.timings;
    if (!m_session) {
        ended.endWith(Error{ErrorCode::NotFound, "no_model", "no model is open; open one and try again"});
        return ended;
    }
    update([&](EngineStatus& status) {
        status.phase = Phase::Reading;
        status.answerId = request.id;
        status.done = status.total = 0;
        status.tokenCount = static_cast<std::uint32_t>(request.timings.tokens);
        status.thinkingTokenCount = static_cast<std::uint32_t>(request.timings.thinkingTokens);
        status.thinking = std::chrono::milliseconds(request.timings.thinkingMs);
        status.tokensPerSecond = 0;
        status.isPaging = false;
        status.left = {};
        status.since = Clock::now();
        status.error = {};
    });
    ended = m_session->answer(request, m_cancel, callbacksFor(request));
    const EngineStatus counted = status();
    ended.timings.thinkingTokens = counted.thinkingTokenCount;
    ended.timings.thinkingMs = static_cast<std::uint64_t>(counted.thinking.count());
    return ended;
}

ChatSession::Callbacks EngineHost::Worker::callbacksFor(const AnswerRequest& request)
{
    ChatSession::Callbacks callbacks;
    const auto start = Clock::now();
    const std::chrono::milliseconds before(request.timings.thinkingMs);
    callbacks.looking = [this](std::string_view name, std::uint64_t done, std::uint64_t total) {
        update([&](EngineStatus& status) {
            if (status.phase != Phase::Stopping)
                status.phase = Phase::Looking;
            status.pictureName = name;
            status.done = done;
            status.total = total;
            status.left = {};
        });
    };
    callbacks.reading = [this, start](std::uint64_t done, std::uint64_t total) {
        update([&](EngineStatus& status) {
            if (status.phase == Phase::Looking)
                status.phase = Phase::Reading;
            status.done = done;
            status.total = total;
            status.usedTokens = m_session->usedTokens();
            if (done > 0)
                status.left =
                    msSince(start) * static_cast<std::int64_t>(total - done) / static_cast<std::int64_t>(done);
        });
    };
    callbacks.began = [this, id = request.id] { m_sink(ReplyBegan{id}); };
    callbacks.token = [this, start, before, rate = RateMeter()](const TokenEvent& event, bool thinking) mutable {
        const auto now = Clock::now();
        update([&](EngineStatus& status) {
            if (status.phase != Phase::Stopping)
                status.phase = thinking ? Phase::Thinking : Phase::Answering;
            if (thinking) {
                ++status.thinkingTokenCount;
                status.thinking = before + std::chrono::duration_cast<std::chrono::milliseconds>(now - start);
            }
            ++status.tokenCount;
            status.usedTokens = m_session->usedTokens();
            status.tokensPerSecond = rate.add(now);
            status.isPaging = event.isPaging;
        });
    };
    callbacks.text = [this, id = request.id](const ReplyDelta& delta) {
        if (!delta.reasoning.empty())
            m_sink(ReplyText{id, ReplyText::Channel::Thinking, delta.reasoning});
        if (!delta.content.empty())
            m_sink(ReplyText{id, ReplyText::Channel::Content, delta.content});
    };
    return callbacks;
}

EngineHost::EngineHost(Sink sink)
    : m_worker(std::make_unique<Worker>(std::move(sink)))
{
}

EngineHost::~EngineHost() = default;

void EngineHost::openModel(OpenModelRequest request)
{
    m_worker->openModel(std::move(request));
}

void EngineHost::answer(AnswerRequest request)
{
    m_worker->answer(std::move(request));
}

void EngineHost::stop(const std::string& answerId)
{
    m_worker->stop(answerId);
}

void EngineHost::stopOpening()
{
    m_worker->stopOpening();
}

void EngineHost::releaseVision()
{
    m_worker->releaseVision();
}

std::shared_ptr<const Container> EngineHost::Worker::container() const
{
    const std::lock_guard lock(m_mutex);
    return m_container;
}

std::shared_ptr<const Container> EngineHost::container() const
{
    return m_worker->container();
}

EngineStatus EngineHost::status() const
{
    return m_worker->status();
}

} // namespace waste::host
