// What is read as JSON is written as JSON that reads back the same.

#include "prompt/json_text.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    for (const auto dialect : {waste::JsonDialect::Strict, waste::JsonDialect::Lenient}) {
        const auto value = waste::parseJson(text, dialect);
        if (!value)
            continue;
        const std::string written = waste::writeJson(*value, waste::JsonStyle::Spaced);
        const auto again = waste::parseJson(written, dialect);
        if (!again || waste::writeJson(*again, waste::JsonStyle::Spaced) != written)
            std::abort();
        if (!waste::parseJson(waste::writeJson(waste::sortedByKey(*value), waste::JsonStyle::Compact), dialect))
            std::abort();
    }
    return 0;
}
