#pragma once

#include <span>

namespace waste::app {

// --help and --version, which need no display: somebody may ask over a line that has none.
bool asksForTextOnly(std::span<char* const> arguments);

// From here until displayIsThere() the toolkit's last word, before it aborts, is ours: why there is no window, and what
// to do. The program then ends with exit code 1. Whatever else the toolkit says is shown with QT_DEBUG_PLUGINS alone.
void explainMissingDisplay();
void displayIsThere();

} // namespace waste::app
