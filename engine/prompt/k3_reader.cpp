#include "prompt/k3_reader.h"

#include "prompt/json_text.h"
#include "prompt/k3_header.h"
#include "prompt/segment_list.h"
#include "prompt/typed_value.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace waste {

namespace {

constexpr std::size_t kHeaderBytesMax = std::size_t{64} << 10;
constexpr std::size_t kDepthMax = 256;
constexpr std::size_t kCallsMax = 1000;

// Elements that end an argument or json element which the model forgot to close.
constexpr std::array<std::string_view, 6> kEndingValues{"argument", "json", "call", "tools", "response", "think"};

std::optional<std::int32_t> parseIndex(const std::string& text)
{
    std::int32_t index = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
    if (error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return index;
}

} // namespace

std::string K3Reader::Call::argumentsJson() const
{
    if (raw)
        return *raw;
    std::string json = "{";
    for (const Argument& argument : arguments) {
        if (json.size() > 1)
            json += ", ";
        appendJsonString(json, argument.key);
        json += ": " + argument.json;
    }
    return json + '}';
}

K3Reader::K3Reader(ReplyChannel start)
    : m_stack{start == ReplyChannel::Think ? "think" : "response"}
    , m_sawResponse(start == ReplyChannel::Response)
{
}

ReplyDelta K3Reader::feedText(std::string_view text)
{
    ReplyDelta delta;
    if (m_ended)
        return delta;
    if (!m_header) {
        emit(text, delta);
        return delta;
    }
    m_header->text += text;
    if (m_header->text.size() > kHeaderBytesMax)
        emitHeader(delta);
    return delta;
}

ReplyDelta K3Reader::feedMarker(Marker marker)
{
    ReplyDelta delta;
    if (m_ended)
        return delta;
    switch (marker) {
    case Marker::Open:
    case Marker::Close:
        m_header = Header{marker, {}};
        break;
    case Marker::Separator:
        if (m_header)
            finishHeader(delta);
        break;
    case Marker::End:
        m_header.reset(); // it was structure; nothing was cut
        m_ended = true;
        break;
    }
    return delta;
}

ReplyDelta K3Reader::finish()
{
    ReplyDelta delta;
    if (m_header)
        emitHeader(delta);
    storeValue();
    return delta;
}

void K3Reader::emit(std::string_view text, ReplyDelta& delta)
{
    if (text.empty())
        return;
    if (m_value) {
        if (m_value->kind == OpenValue::Kind::Swallowed)
            return;
        m_value->text += text;
        markChanged(delta);
        return;
    }
    if (m_call && m_call->dropped)
        return;
    const std::string_view top = m_stack.empty() ? std::string_view() : std::string_view(m_stack.back());
    if (top == "think")
        delta.reasoning += text;
    else if (top != "tools" && top != "call")
        delta.content += text;
}

// A header that was cut off, or that is none by its size, is text.
void K3Reader::emitHeader(ReplyDelta& delta)
{
    const Header header = std::move(*m_header);
    m_header.reset();
    emit(header.marker == Marker::Open ? k3::kOpen : k3::kClose, delta);
    emit(header.text, delta);
}

void K3Reader::finishHeader(ReplyDelta& delta)
{
    if (m_header->marker == Marker::Open && m_stack.size() >= kDepthMax) {
        emitHeader(delta);
        return;
    }
    const Marker marker = m_header->marker;
    const K3Header header = K3Header::parse(m_header->text);
    m_header.reset();
    ++m_elementCount;
    if (marker == Marker::Open)
        openElement(header, delta);
    else
        closeElement(header, delta);
}

void K3Reader::openElement(const K3Header& header, ReplyDelta& delta)
{
    const std::string& name = header.name;
    if (m_value && std::find(kEndingValues.begin(), kEndingValues.end(), name) != kEndingValues.end())
        popTo(m_value->depth, delta);
    if (name == "call" && m_call)
        popTo(m_call->depth, delta);

    if (name == "call")
        openCall(header, delta);
    else if (name == "argument" || name == "json")
        openValue(header);
    else if (name == "response")
        m_sawResponse = true;
    m_stack.push_back(name);
}

void K3Reader::openCall(const K3Header& header, ReplyDelta& delta)
{
    const std::string* name = header.find("tool");
    const bool dropped = name == nullptr || name->empty() || m_calls.size() >= kCallsMax;
    m_call = OpenCall{m_stack.size(), dropped};
    if (dropped) {
        ++m_droppedCalls;
        return;
    }
    Call call;
    call.name = *name;
    const std::string* index = header.find("index");
    call.index =
        (index != nullptr ? parseIndex(*index) : std::nullopt).value_or(static_cast<std::int32_t>(m_calls.size() + 1));
    if (const std::string* id = header.find("id"))
        call.idAttribute = *id;
    m_calls.push_back(std::move(call));
    m_argumentPlaces.clear();
    markChanged(delta);
}

// Outside a call, or without a key, a value belongs nowhere: its text must not leak into the answer.
void K3Reader::openValue(const K3Header& header)
{
    OpenValue value;
    value.depth = m_stack.size();
    const bool belongsToCall = m_call && !m_call->dropped;
    const std::string* key = header.find("key");
    const std::string* type = header.find("type");
    if (belongsToCall && header.name == "json") {
        value.kind = OpenValue::Kind::Raw;
    } else if (belongsToCall && key != nullptr) {
        value.kind = OpenValue::Kind::Argument;
        value.key = *key;
        value.type = type != nullptr ? *type : "";
    }
    m_value = std::move(value);
}

void K3Reader::closeElement(const K3Header& header, ReplyDelta& delta)
{
    if (header.name.empty()) {
        if (!m_stack.empty())
            popTo(m_stack.size() - 1, delta);
        return;
    }
    const auto found = std::find(m_stack.rbegin(), m_stack.rend(), header.name);
    if (found != m_stack.rend())
        popTo(static_cast<std::size_t>(m_stack.rend() - found) - 1, delta);
}

// Takes the element at `depth` and all above it off the stack, and ends what was open in them.
void K3Reader::popTo(std::size_t depth, ReplyDelta& delta)
{
    if (m_value && m_value->depth >= depth && storeValue())
        markChanged(delta);
    if (m_call && m_call->depth >= depth) {
        if (!m_call->dropped)
            m_calls.back().closed = true;
        m_call.reset();
    }
    m_stack.resize(depth);
}

// Ends the open value. False: nothing was stored.
bool K3Reader::storeValue()
{
    if (!m_value)
        return false;
    OpenValue value = std::move(*m_value);
    m_value.reset();
    switch (value.kind) {
    case OpenValue::Kind::Argument:
        storeArgument(std::move(value.key), typedValueJson(value.type, value.text));
        return true;
    case OpenValue::Kind::Raw:
        m_calls.back().raw = std::move(value.text);
        return true;
    case OpenValue::Kind::Swallowed:
        break;
    }
    return false;
}

void K3Reader::storeArgument(std::string key, std::string json)
{
    std::vector<Argument>& arguments = m_calls.back().arguments;
    const auto [place, isNew] = m_argumentPlaces.emplace(key, arguments.size());
    if (isNew)
        arguments.push_back({std::move(key), std::move(json)});
    else
        arguments[place->second].json = std::move(json);
}

void K3Reader::markChanged(ReplyDelta& delta) const
{
    const std::size_t position = m_calls.size() - 1;
    if (delta.calls.empty() || delta.calls.back() != position)
        delta.calls.push_back(position);
}

} // namespace waste
