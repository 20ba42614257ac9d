#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>

namespace waste::test {

// How many pages of a file the system holds in its cache; empty: it does not tell.
std::optional<std::size_t> cachedPages(const std::filesystem::path& file);

// Writes the file out and drops it from the cache, so that what is there later was read since. False: it stays, as on
// a file system that is nothing but cache.
bool dropCachedPages(const std::filesystem::path& file);

} // namespace waste::test
