#pragma once

#include "waste/converter.h"

#include <cstdint>
#include <map>
#include <string_view>

namespace waste {

// How a conversion tells what it does and hears that it should stop. One thread, but for the stop.
class ConversionProgress {
public:
    ConversionProgress(const ConvertSink& sink, const CancelFlag* cancel)
        : m_sink(sink)
        , m_cancel(cancel)
    {
    }

    void report(const ConvertEvent& event) const
    {
        if (m_sink)
            m_sink(event);
    }

    // Stages may take turns: one that was begun before goes on where it was. `doneBytes` were there before this run.
    void begin(std::string_view stage, std::uint64_t totalBytes, std::uint64_t doneBytes = 0)
    {
        m_stage = &m_stages.try_emplace(stage, Progress{stage, doneBytes, totalBytes}).first->second;
        report(*m_stage);
    }

    void advance(std::uint64_t bytes)
    {
        m_stage->done += bytes;
        report(*m_stage);
    }

    [[nodiscard]] std::uint64_t done() const { return m_stage->done; } // of the stage in work
    // What is made once more does not count twice.
    void goBackTo(std::uint64_t done) { m_stage->done = done; }

    // Any thread.
    [[nodiscard]] bool isStopped() const { return m_cancel != nullptr && m_cancel->isCancelled(); }

    // Polled where nothing takes longer than some tenths of a second in between.
    [[nodiscard]] Status checkCancelled() const
    {
        if (isStopped())
            return Error{ErrorCode::Cancelled, "", "the conversion was stopped; calling it again goes on from here"};
        return {};
    }

private:
    const ConvertSink& m_sink;
    const CancelFlag* m_cancel;
    std::map<std::string_view, Progress> m_stages;
    Progress* m_stage = nullptr; // the one in work
};

} // namespace waste
