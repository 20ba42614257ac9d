#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace waste {

// The text between a marker and its separator: an element's name and attributes (spec: chat 6.3).
struct K3Header {
    std::string name;
    std::vector<std::pair<std::string, std::string>> attributes;

    static K3Header parse(std::string_view text);
    [[nodiscard]] const std::string* find(std::string_view key) const; // of a repeated key the last; null: none
};

} // namespace waste
