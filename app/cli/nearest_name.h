#pragma once

#include <span>
#include <string>
#include <string_view>

namespace waste::cli {

// The candidate that `name` was most likely meant to be; empty if none is near enough to be worth naming.
std::string nearestName(std::string_view name, std::span<const std::string> candidates);

// "; did you mean X?", or nothing.
std::string suggestion(std::string_view name, std::span<const std::string> candidates);

} // namespace waste::cli
