#pragma once

#include "prompt/k3_reader.h"
#include "prompt/stop_strings.h"
#include "waste/chat_format.h"
#include "waste/tokenizer.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace waste {

// The ids of the native format's markers.
struct K3Markers {
    TokenId open = 0;
    TokenId close = 0;
    TokenId separator = 0;
    TokenId end = 0;

    static std::optional<K3Markers> of(const Tokenizer& tokenizer); // empty: not all of them are there
    [[nodiscard]] std::optional<K3Reader::Marker> find(TokenId id) const;
};

// How the replies of one model end, and whether they have elements.
struct ReplyRules {
    std::shared_ptr<const Tokenizer> tokenizer;
    std::optional<K3Markers> markers; // empty: everything is content
    std::vector<TokenId> stopIds;
    std::string stopText; // a stop string of the format itself; may be empty
};

// Decodes ids, sorts their text into channels and looks for stop strings in the content.
struct ReplyReader::State {
public:
    State(const ReplyRules& rules, const Options& options);

    ReplyDelta feed(TokenId id);
    ReplyDelta feedText(std::string_view text); // ordinary text that comes without an id
    ReplyDelta finish();

    [[nodiscard]] bool isOver() const { return m_stopped || messageEnded() || stopStringMatched(); }
    [[nodiscard]] bool messageEnded() const { return m_elements ? m_elements->ended() : m_stopped; }
    [[nodiscard]] bool stopStringMatched() const { return m_stopStrings.matched(); }
    [[nodiscard]] bool answerIsEmpty() const;
    [[nodiscard]] const std::optional<K3Reader>& elements() const { return m_elements; }
    [[nodiscard]] const std::string& reasoning() const { return m_reasoning; }
    [[nodiscard]] const std::string& content() const { return m_content; }
    [[nodiscard]] ToolCall call(std::size_t position) const;

private:
    ReplyDelta readText(std::string_view text);
    ReplyDelta readMarker(K3Reader::Marker marker);
    ReplyDelta account(ReplyDelta delta);

    const ReplyRules m_rules;
    const ReplyChannel m_start;
    const std::vector<std::string> m_declaredTools;
    StreamDecoder m_decoder;
    std::optional<K3Reader> m_elements; // empty: everything is content
    StopStrings m_stopStrings;
    std::vector<std::string> m_callIds; // [call], used where the model wrote none
    std::string m_reasoning;
    std::string m_content;
    bool m_stopped = false; // by a stop id that is no marker
};

} // namespace waste
