#include "prompt/reply_state.h"

#include "prompt/segment_list.h"

#include <algorithm>
#include <random>

namespace waste {

namespace {

std::vector<std::string> allStopStrings(const ReplyRules& rules, const ReplyReader::Options& options)
{
    std::vector<std::string> strings = options.stopStrings;
    strings.push_back(rules.stopText);
    return strings;
}

void append(ReplyDelta& whole, const ReplyDelta& part)
{
    whole.reasoning += part.reasoning;
    whole.content += part.content;
    for (const std::size_t call : part.calls) {
        if (whole.calls.empty() || whole.calls.back() != call)
            whole.calls.push_back(call);
    }
}

// Unique over all conversations: some clients look calls up by their id alone.
std::string randomCallId()
{
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::random_device random;
    std::string id = "call_";
    for (int i = 0; i < 24; ++i)
        id += kDigits[random() % kDigits.size()];
    return id;
}

} // namespace

std::optional<K3Markers> K3Markers::of(const Tokenizer& tokenizer)
{
    const auto open = tokenizer.special(k3::kOpen);
    const auto close = tokenizer.special(k3::kClose);
    const auto separator = tokenizer.special(k3::kSeparator);
    const auto end = tokenizer.special(k3::kEnd);
    if (!open || !close || !separator || !end)
        return std::nullopt;
    return K3Markers{*open, *close, *separator, *end};
}

std::optional<K3Reader::Marker> K3Markers::find(TokenId id) const
{
    if (id == open)
        return K3Reader::Marker::Open;
    if (id == close)
        return K3Reader::Marker::Close;
    if (id == separator)
        return K3Reader::Marker::Separator;
    if (id == end)
        return K3Reader::Marker::End;
    return std::nullopt;
}

ReplyReader::State::State(const ReplyRules& rules, const Options& options)
    : m_rules(rules)
    , m_start(options.start)
    , m_declaredTools(options.declaredTools)
    , m_decoder(rules.tokenizer)
    , m_stopStrings(allStopStrings(rules, options))
{
    if (rules.markers)
        m_elements.emplace(options.start);
}

ReplyDelta ReplyReader::State::feed(TokenId id)
{
    if (isOver())
        return {};
    const auto marker = m_rules.markers ? m_rules.markers->find(id) : std::nullopt;
    if (marker) {
        ReplyDelta delta = readText(m_decoder.flush());
        append(delta, readMarker(*marker));
        return delta;
    }
    if (std::ranges::find(m_rules.stopIds, id) != m_rules.stopIds.end()) {
        m_stopped = true;
        return readText(m_decoder.flush());
    }
    const auto text = m_decoder.feed(id);
    return text ? readText(*text) : ReplyDelta(); // a vocabulary may have rows without a text
}

ReplyDelta ReplyReader::State::feedText(std::string_view text)
{
    if (isOver())
        return {};
    return readText(m_decoder.flush() + std::string(text));
}

ReplyDelta ReplyReader::State::finish()
{
    ReplyDelta delta = readText(m_decoder.flush());
    if (m_elements)
        append(delta, account(m_elements->finish()));
    const std::string held = m_stopStrings.release();
    m_content += held;
    delta.content += held;
    return delta;
}

ReplyDelta ReplyReader::State::readText(std::string_view text)
{
    if (m_elements)
        return account(m_elements->feedText(text));
    ReplyDelta delta;
    delta.content = text;
    return account(std::move(delta));
}

// A stop string does not reach over the border of an element.
ReplyDelta ReplyReader::State::readMarker(K3Reader::Marker marker)
{
    const std::size_t elementCount = m_elements->elementCount();
    ReplyDelta delta = account(m_elements->feedMarker(marker));
    if (m_elements->elementCount() != elementCount) {
        const std::string held = m_stopStrings.release();
        m_content += held;
        delta.content.insert(0, held);
    }
    return delta;
}

// Holds content back that may be the beginning of a stop string, and adds the rest to the totals.
ReplyDelta ReplyReader::State::account(ReplyDelta delta)
{
    delta.content = m_stopStrings.push(delta.content);
    m_content += delta.content;
    m_reasoning += delta.reasoning;
    while (m_elements && m_callIds.size() < m_elements->calls().size())
        m_callIds.push_back(randomCallId());
    return delta;
}

bool ReplyReader::State::answerIsEmpty() const
{
    return m_elements && m_start == ReplyChannel::Think && !m_elements->sawResponse() && m_elements->calls().empty()
        && m_content.empty();
}

ToolCall ReplyReader::State::call(std::size_t position) const
{
    const K3Reader::Call& read = m_elements->calls()[position];
    ToolCall call;
    call.id = read.idAttribute.value_or(m_callIds[position]);
    call.idAttribute = read.idAttribute;
    call.name = read.name;
    call.index = read.index;
    call.arguments = read.argumentsJson();
    call.rawJson = read.raw.has_value();
    call.complete = read.closed || m_elements->ended();
    call.declared = std::ranges::find(m_declaredTools, read.name) != m_declaredTools.end();
    return call;
}

} // namespace waste
