#include "checkpoint/safetensors.h"

#include "base/checked.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cassert>
#include <optional>
#include <utility>

namespace waste {
namespace {

constexpr std::size_t kDimensionsMax = 8;
constexpr std::uint64_t kDimensionMax = std::uint64_t{1} << 31;
constexpr std::size_t kDepthMax = 16; // of values that are passed over

// Reads a header as a stream of events: no tree is built, so a hostile header costs no more memory than
// the entries that it really has.
class HeaderEvents final : public nlohmann::json_sax<nlohmann::json> {
public:
    HeaderEvents(std::uint64_t dataOffset, std::uint64_t dataBytes, std::string_view file)
        : m_dataOffset(dataOffset)
        , m_dataBytes(dataBytes)
        , m_file(file)
    {
    }

    std::vector<SafetensorsEntry> takeEntries() { return std::move(m_entries); }
    Error takeError() { return std::move(m_error); }

    bool null() override { return scalar(); }
    bool boolean(bool) override { return scalar(); }
    bool number_integer(number_integer_t) override { return scalar(); }
    bool number_float(number_float_t, const string_t&) override { return scalar(); }
    bool binary(binary_t&) override { return scalar(); }

    bool number_unsigned(number_unsigned_t value) override
    {
        if (isPassingOver())
            return true;
        if (m_place == Place::Shape)
            return addDimension(value);
        if (m_place != Place::Offsets)
            return refuseValue();
        if (m_offsetCount == m_offsets.size())
            return refuse("data_offsets has more than two numbers");
        m_offsets[m_offsetCount++] = value;
        return true;
    }

    bool string(string_t& text) override
    {
        if (isPassingOver())
            return true;
        if (m_place != Place::Tensor || m_key != Key::Type)
            return refuseValue();
        const auto type = tensorTypeFromName(text);
        if (!type)
            return refuse("the type \"" + text + "\" is not known", ErrorCode::Unsupported);
        m_entry.type = *type;
        return true;
    }

    bool start_object(std::size_t) override
    {
        if (isPassingOver())
            return descend();
        if (m_place == Place::Start) {
            m_place = Place::Root;
        } else if (m_place == Place::Root) {
            m_place = Place::Tensor;
            m_seen = {};
        } else {
            return refuseValue();
        }
        return true;
    }

    bool key(string_t& text) override
    {
        if (m_passedDepth > 0)
            return true;
        m_passNext = false;
        if (m_place == Place::Root) {
            m_entry = {};
            m_entry.name = text;
            m_passNext = text == "__metadata__";
            return true;
        }
        m_key = text == "dtype"      ? Key::Type
            : text == "shape"        ? Key::Shape
            : text == "data_offsets" ? Key::Offsets
                                     : Key::Other;
        if (m_key == Key::Other) {
            m_passNext = true;
            return true;
        }
        if (std::exchange(m_seen[static_cast<std::size_t>(m_key)], true))
            return refuse("the key \"" + text + "\" is there twice");
        return true;
    }

    bool end_object() override
    {
        if (m_passedDepth > 0)
            return ascend();
        if (m_place == Place::Root) {
            m_place = Place::End;
            return true;
        }
        m_place = Place::Root;
        return finishEntry();
    }

    bool start_array(std::size_t) override
    {
        if (isPassingOver())
            return descend();
        if (m_place != Place::Tensor || (m_key != Key::Shape && m_key != Key::Offsets))
            return refuseValue();
        m_place = m_key == Key::Shape ? Place::Shape : Place::Offsets;
        m_offsetCount = 0;
        return true;
    }

    bool end_array() override
    {
        if (m_passedDepth > 0)
            return ascend();
        if (m_place == Place::Offsets && m_offsetCount != m_offsets.size())
            return refuse("data_offsets has not two numbers");
        m_place = Place::Tensor;
        return true;
    }

    bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override
    {
        m_error = {ErrorCode::Corrupt, "",
            m_file + ": the header is not valid JSON at byte " + std::to_string(kSafetensorsPreambleBytes + position)};
        return false;
    }

private:
    enum class Place : std::uint8_t { Start, Root, Tensor, Shape, Offsets, End };
    enum class Key : std::uint8_t { Type, Shape, Offsets, Other };

    [[nodiscard]] bool isPassingOver() const { return m_passNext || m_passedDepth > 0; }

    bool descend()
    {
        m_passNext = false;
        return ++m_passedDepth <= kDepthMax || refuse("values are nested too deeply");
    }

    bool ascend()
    {
        --m_passedDepth;
        return true;
    }

    // Any value that no tensor's description can hold.
    bool scalar()
    {
        if (!isPassingOver())
            return refuseValue();
        if (m_passedDepth == 0)
            m_passNext = false;
        return true;
    }

    bool refuseValue() { return refuse("a value has the wrong type"); }

    bool refuse(const std::string& what, ErrorCode code = ErrorCode::Corrupt)
    {
        const bool inTensor = m_place != Place::Start && m_place != Place::End && !m_entry.name.empty();
        const std::string place = inTensor ? "tensor \"" + m_entry.name + "\": " : std::string("header: ");
        m_error = {code, "", m_file + ": " + place + what};
        return false;
    }

    bool addDimension(std::uint64_t value)
    {
        if (m_entry.shape.size() == kDimensionsMax)
            return refuse("more than 8 dimensions");
        if (value > kDimensionMax)
            return refuse("a dimension is larger than 2^31");
        m_entry.shape.push_back(value);
        return true;
    }

    bool finishEntry()
    {
        if (!m_seen[0] || !m_seen[1] || !m_seen[2])
            return refuse("dtype, shape or data_offsets is missing");
        const auto [begin, end] = m_offsets;
        if (begin > end || end > m_dataBytes)
            return refuse("data_offsets [" + std::to_string(begin) + ", " + std::to_string(end)
                + "] are outside the data of " + std::to_string(m_dataBytes)
                + " bytes; the file may have been cut off");
        std::optional<std::uint64_t> bytes = tensorTypeBytes(m_entry.type);
        for (const std::uint64_t dimension : m_entry.shape) {
            if (bytes)
                bytes = checkedMultiply(*bytes, dimension);
        }
        if (!bytes || *bytes != end - begin)
            return refuse("data_offsets do not hold what its shape and type need");
        m_entry.offsetBytes = m_dataOffset + begin;
        m_entry.bytes = *bytes;
        m_entries.push_back(std::move(m_entry));
        m_entry = {};
        return true;
    }

    const std::uint64_t m_dataOffset;
    const std::uint64_t m_dataBytes;
    const std::string m_file;
    Place m_place = Place::Start;
    Key m_key = Key::Other;
    bool m_passNext = false; // the value after a key that is of no interest
    std::size_t m_passedDepth = 0;
    std::array<bool, 3> m_seen = {};
    std::array<std::uint64_t, 2> m_offsets = {};
    std::size_t m_offsetCount = 0;
    SafetensorsEntry m_entry;
    std::vector<SafetensorsEntry> m_entries;
    Error m_error;
};

// Checks that no two tensors share a byte; says whether bytes are left that belong to none.
Result<bool> findHoles(
    std::span<const SafetensorsEntry> entries, std::uint64_t dataOffset, std::uint64_t fileBytes, std::string_view file)
{
    std::vector<const SafetensorsEntry*> inOrder;
    inOrder.reserve(entries.size());
    for (const SafetensorsEntry& entry : entries) {
        if (entry.bytes > 0)
            inOrder.push_back(&entry);
    }
    std::ranges::sort(inOrder, {}, &SafetensorsEntry::offsetBytes);
    std::uint64_t position = dataOffset;
    bool hasHoles = false;
    const SafetensorsEntry* previous = nullptr;
    for (const SafetensorsEntry* entry : inOrder) {
        if (entry->offsetBytes < position)
            return Error{ErrorCode::Corrupt, "",
                std::string(file) + ": tensors \"" + previous->name + "\" and \"" + entry->name + "\" overlap"};
        hasHoles = hasHoles || entry->offsetBytes > position;
        position = entry->offsetBytes + entry->bytes;
        previous = entry;
    }
    return hasHoles || position != fileBytes;
}

} // namespace

Result<std::uint64_t> safetensorsHeaderBytes(std::uint64_t preamble, std::uint64_t fileBytes, std::string_view file)
{
    if (preamble > kSafetensorsHeaderBytesMax || fileBytes < kSafetensorsPreambleBytes
        || preamble > fileBytes - kSafetensorsPreambleBytes)
        return Error{ErrorCode::Corrupt, "",
            std::string(file) + ": a header of " + std::to_string(preamble)
                + " bytes does not fit; this is not a safetensors file or it was cut off"};
    return preamble;
}

Result<SafetensorsHeader> parseSafetensorsHeader(std::string_view json, std::uint64_t fileBytes, std::string_view file)
{
    const std::uint64_t dataOffset = kSafetensorsPreambleBytes + json.size();
    assert(dataOffset <= fileBytes);
    HeaderEvents events(dataOffset, fileBytes - dataOffset, file);
    if (!nlohmann::json::sax_parse(json, &events))
        return events.takeError();

    SafetensorsHeader header;
    header.entries = events.takeEntries();
    std::ranges::sort(header.entries, {}, &SafetensorsEntry::name);
    const auto twice = std::ranges::adjacent_find(header.entries, {}, &SafetensorsEntry::name);
    if (twice != header.entries.end())
        return Error{ErrorCode::Corrupt, "", std::string(file) + ": tensor \"" + twice->name + "\" is there twice"};
    WASTE_TRY(header.hasHoles, findHoles(header.entries, dataOffset, fileBytes, file));
    return header;
}

std::uint64_t elementCount(std::span<const std::uint64_t> shape)
{
    std::uint64_t count = 1;
    for (const std::uint64_t dimension : shape)
        count *= dimension;
    return count;
}

} // namespace waste
