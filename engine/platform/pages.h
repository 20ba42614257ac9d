#pragma once

#include "waste/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace waste {

// Zeroed memory straight from the system, page by page as it is touched. Large blocks ask for huge pages:
// a direct read of an 11.8 MiB record then pins 6 pages instead of 3029.
class Pages {
public:
    // `purpose` names the block in the message of OutOfMemory. 0 bytes are allowed.
    static Result<Pages> allocate(std::uint64_t bytes, std::string_view purpose);
    Pages() = default;
    Pages(Pages&& other) noexcept;
    Pages& operator=(Pages&& other) noexcept;
    ~Pages();

    // Keeps them from being paged out; ends with them. Error: Unsupported, saying what limit is in the way.
    [[nodiscard]] Status lock();

    // Gives the whole pages inside `part` of bytes() back to the system, with what they contain; they come again when
    // they are touched. What cannot be given back stays, and costs memory alone.
    void discard(std::span<std::byte> part);

    [[nodiscard]] std::span<std::byte> bytes() const { return m_bytes; } // aligned to 16 KiB

private:
    std::span<std::byte> m_bytes;
    std::span<std::byte> m_mapping; // contains m_bytes
};

} // namespace waste
