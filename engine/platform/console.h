#pragma once

#include <cstdint>
#include <optional>

namespace waste::console {

enum class Stream : std::uint8_t { Input, Output, Error };

// Makes the console take and show UTF-8 and escape sequences (Windows). Call once, early.
void prepare();

[[nodiscard]] bool isTerminal(Stream stream);
// Columns of the terminal behind a stream; empty if it is none.
[[nodiscard]] std::optional<std::uint32_t> columns(Stream stream);

} // namespace waste::console
