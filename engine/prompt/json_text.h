#pragma once

#include "waste/result.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace waste {

struct JsonMember;

// JSON as conversations carry it (spec: chat 3.4 and 3.5). No library keeps what has to be kept here: the
// order of keys, every digit of an integer, lone surrogates as U+FFFD, NaN and Infinity. A value.
struct JsonValue {
    enum class Kind : std::uint8_t { Null, Boolean, Number, String, Array, Object };
    Kind kind = Kind::Null;
    bool boolean = false;
    std::string text; // String: its UTF-8. Number: as it is written out
    std::vector<JsonValue> items; // Array
    std::vector<JsonMember> members; // Object, in order; no key twice

    [[nodiscard]] bool is(Kind wanted) const { return kind == wanted; }
    // The member of an object; null if there is none, or if its value is null.
    [[nodiscard]] const JsonValue* find(std::string_view key) const;

    static JsonValue string(std::string text);
    static JsonValue object(std::vector<JsonMember> members);
};

struct JsonMember {
    std::string key;
    JsonValue value;
};

inline constexpr std::size_t kJsonDepthMax = 256; // an array or object at the top is depth 1
inline constexpr std::size_t kJsonValuesMax = std::size_t{1} << 20; // a parsed value takes 88 bytes, a written one 2

enum class JsonDialect : std::uint8_t {
    Strict, // no NaN, no Infinity, no number beyond a double
    Lenient, // these words are numbers, and 1e400 is Infinity
};

// One value and blanks around it. Of a repeated key the last value wins, at the first position. Error:
// InvalidArgument with the byte where it went wrong; reason too_large beyond the limits above.
Result<JsonValue> parseJson(std::string_view text, JsonDialect dialect = JsonDialect::Lenient);

enum class JsonStyle : std::uint8_t {
    Compact, // "," and ":"
    Spaced, // ", " and ": "
};

std::string writeJson(const JsonValue& value, JsonStyle style);
void appendJsonString(std::string& target, std::string_view text); // with quotes

// All objects inside with their keys in ascending order of bytes.
JsonValue sortedByKey(JsonValue value);

} // namespace waste
