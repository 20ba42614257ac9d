#pragma once

#include "waste/converter.h"

#include <cstdint>
#include <string_view>

namespace waste {

// How a conversion tells what it does and hears that it should stop. One thread.
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

    void begin(std::string_view stage, std::uint64_t totalBytes)
    {
        m_state = {stage, 0, totalBytes};
        report(m_state);
    }

    void advance(std::uint64_t bytes)
    {
        m_state.done += bytes;
        report(m_state);
    }

    // Polled once a matrix or tile.
    [[nodiscard]] Status checkCancelled() const
    {
        if (m_cancel != nullptr && m_cancel->isCancelled())
            return Error{ErrorCode::Cancelled, "", "the conversion was stopped; calling it again goes on from here"};
        return {};
    }

private:
    const ConvertSink& m_sink;
    const CancelFlag* m_cancel;
    Progress m_state;
};

} // namespace waste
