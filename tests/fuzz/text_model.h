#pragma once

#include "waste/chat_format.h"

#include <cstdlib>
#include <memory>

namespace waste::fuzz {

// The conversation format of the built-in model's published files.
inline const ChatFormat& builtInFormat()
{
    static const auto format = [] {
        const std::filesystem::path directory = WASTE_TEST_DATA "/../../resources/k3-mini";
        auto tokenizer = Tokenizer::open(directory, 0);
        auto opened = tokenizer ? ChatFormat::open(directory, *tokenizer) : std::move(tokenizer.error());
        if (!opened)
            std::abort();
        return *opened;
    }();
    return *format;
}

} // namespace waste::fuzz
