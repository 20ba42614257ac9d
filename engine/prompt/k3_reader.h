#pragma once

#include "waste/chat_format.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace waste {

struct K3Header;

// The native reply format of K3, read while it is generated (spec: chat 6). Takes any sequence of markers and
// texts and never fails: what a model writes is a prediction. One thread at a time.
//
// Invariants: at most one call element and one value (argument or json) are open, and each is on the stack
// exactly as long as it is open. A call is dropped if it has no name or comes after kCallsMax others.
class K3Reader {
public:
    enum class Marker : std::uint8_t { Open, Close, Separator, End };

    struct Argument {
        std::string key;
        std::string json;
    };
    struct Call {
        std::string name;
        std::int32_t index = 0;
        std::optional<std::string> idAttribute;
        std::vector<Argument> arguments; // no key twice
        std::optional<std::string> raw; // of the last json element
        bool closed = false;
        [[nodiscard]] std::string argumentsJson() const;
    };

    explicit K3Reader(ReplyChannel start);

    ReplyDelta feedText(std::string_view text);
    ReplyDelta feedMarker(Marker marker);
    ReplyDelta finish();

    [[nodiscard]] bool ended() const { return m_ended; } // the end marker came
    [[nodiscard]] bool isReasoning() const { return !m_stack.empty() && m_stack.back() == "think"; }
    [[nodiscard]] bool sawResponse() const { return m_sawResponse; }
    [[nodiscard]] std::size_t elementCount() const { return m_elementCount; } // openings and closings so far
    [[nodiscard]] std::uint32_t droppedCalls() const { return m_droppedCalls; }
    [[nodiscard]] const std::vector<Call>& calls() const { return m_calls; }

private:
    struct Header {
        Marker marker = Marker::Open; // Open or Close
        std::string text;
    };
    struct OpenCall {
        std::size_t depth = 0; // its place in m_stack
        bool dropped = false;
    };
    struct OpenValue {
        enum class Kind : std::uint8_t { Argument, Raw, Swallowed };
        Kind kind = Kind::Swallowed;
        std::size_t depth = 0;
        std::string key;
        std::string type;
        std::string text;
    };

    void emit(std::string_view text, ReplyDelta& delta);
    void emitHeader(ReplyDelta& delta);
    void finishHeader(ReplyDelta& delta);
    void openElement(const K3Header& header, ReplyDelta& delta);
    void openCall(const K3Header& header, ReplyDelta& delta);
    void openValue(const K3Header& header);
    void closeElement(const K3Header& header, ReplyDelta& delta);
    void popTo(std::size_t depth, ReplyDelta& delta);
    bool storeValue();
    void storeArgument(std::string key, std::string json);
    void markChanged(ReplyDelta& delta) const; // the last call

    std::vector<std::string> m_stack; // element names
    std::optional<Header> m_header;
    std::optional<OpenCall> m_call;
    std::optional<OpenValue> m_value;
    std::vector<Call> m_calls;
    std::map<std::string, std::size_t> m_argumentPlaces; // by key, of the last call
    std::size_t m_elementCount = 0;
    std::uint32_t m_droppedCalls = 0;
    bool m_sawResponse = false;
    bool m_ended = false;
};

} // namespace waste
