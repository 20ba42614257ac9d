#pragma once

#include <cassert>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace waste {

// What kind of thing went wrong. Exit codes, JSON codes and C statuses follow from it by one table
// (app/host/error_table).
enum class ErrorCode : std::uint8_t {
    Io, // a read, write or flush failed
    OutOfMemory,
    Busy, // session, container or job in use
    Internal, // our fault
    InvalidArgument, // input that cannot be used
    RamBudget, // budget below the floor
    Corrupt, // malformed or damaged file
    Unsupported, // valid, but not by this program
    NotFound,
    NoSpace,
    Network,
    Cancelled,
};

// An error as a user reads it. `reason` is a stable machine-readable word or empty; `message` is one
// sentence: what failed, on which file and place, and what to do about it if that is known.
struct Error {
    ErrorCode code = ErrorCode::Internal;
    std::string reason;
    std::string message;
};

// A value or an Error. Member names are those of std::expected, which C++20 lacks.
template<typename T>
class [[nodiscard]] Result {
public:
    using value_type = T;

    // Implicit, so that `return value;` and `return Error{...};` both read naturally.
    Result(T value)
        : m_content(std::in_place_index<0>, std::move(value))
    {
    } // NOLINT
    Result(Error error)
        : m_content(std::in_place_index<1>, std::move(error))
    {
    } // NOLINT

    [[nodiscard]] bool has_value() const { return m_content.index() == 0; }
    explicit operator bool() const { return has_value(); }

    T& value() & { return *get(); }
    const T& value() const& { return *get(); }
    T&& value() && { return std::move(*get()); }
    T& operator*() & { return *get(); }
    const T& operator*() const& { return *get(); }
    T&& operator*() && { return std::move(*get()); }
    T* operator->() { return get(); }
    const T* operator->() const { return get(); }

    Error& error()
    {
        assert(!has_value());
        return *std::get_if<1>(&m_content);
    }
    [[nodiscard]] const Error& error() const
    {
        assert(!has_value());
        return *std::get_if<1>(&m_content);
    }

private:
    T* get()
    {
        assert(has_value());
        return std::get_if<0>(&m_content);
    }
    const T* get() const
    {
        assert(has_value());
        return std::get_if<0>(&m_content);
    }

    std::variant<T, Error> m_content;
};

template<>
class [[nodiscard]] Result<void> {
public:
    Result() = default;
    Result(Error error)
        : m_error(std::move(error))
    {
    } // NOLINT

    [[nodiscard]] bool has_value() const { return !m_error.has_value(); }
    explicit operator bool() const { return has_value(); }
    Error& error()
    {
        assert(m_error.has_value());
        return *m_error;
    }
    [[nodiscard]] const Error& error() const
    {
        assert(m_error.has_value());
        return *m_error;
    }

private:
    std::optional<Error> m_error;
};

using Status = Result<void>;

} // namespace waste

#define WASTE_CONCAT_INNER(a, b) a##b
#define WASTE_CONCAT(a, b) WASTE_CONCAT_INNER(a, b)

// WASTE_TRY(auto file, DirectFile::open(path)); passes an error on, or declares the value.
#define WASTE_TRY(declaration, expression)                                                                             \
    WASTE_TRY_INNER(declaration, (expression), WASTE_CONCAT(wasteResult, __LINE__))
#define WASTE_TRY_INNER(declaration, expression, result)                                                               \
    auto result = expression;                                                                                          \
    if (!result)                                                                                                       \
        return std::move(result.error());                                                                              \
    declaration = std::move(*result)

// The same for a Status, or for a Result whose value is not wanted.
#define WASTE_TRY_STATUS(expression)                                                                                   \
    do {                                                                                                               \
        if (auto wasteStatus = (expression); !wasteStatus)                                                             \
            return std::move(wasteStatus.error());                                                                     \
    } while (false)
