#pragma once

#include "host/engine_events.h"

#include <functional>
#include <memory>
#include <string>

namespace waste::host {

// One engine and the one thread that works it (design: one per open model). Commands are queued and no
// command blocks its caller. Events come on that thread, or from stop() for an answer that was still
// waiting. Any thread may call.
class EngineHost {
public:
    using Sink = std::function<void(const EngineEvent&)>;

    explicit EngineHost(Sink sink);
    ~EngineHost(); // stops what runs; what waits is dropped without an event
    EngineHost(const EngineHost&) = delete;
    EngineHost& operator=(const EngineHost&) = delete;

    void openModel(OpenModelRequest request); // closes the one before it
    void answer(AnswerRequest request);
    // Ends that answer after the layer at work, or takes it out of the queue. Its text and the state stay.
    void stop(const std::string& answerId);
    void stopOpening();
    // Takes the vision tower out of memory once no answer needs the engine; the next picture reads it again.
    void releaseVision();

    [[nodiscard]] EngineStatus status() const;
    // Of the model that is open or being opened; null: none.
    [[nodiscard]] std::shared_ptr<const Container> container() const;

private:
    class Worker;
    std::unique_ptr<Worker> m_worker;
};

} // namespace waste::host
