#pragma once

#include "waste/result.h"

#include <string>

namespace waste {

// A request that cannot be rendered. `place` is the path of the field, as in messages[2].content[0].text.
inline Error requestError(const std::string& place, const std::string& what)
{
    return {ErrorCode::InvalidArgument, "", place + ": " + what};
}

inline Error unsupportedFeature(const std::string& place, const std::string& what)
{
    return {ErrorCode::InvalidArgument, "unsupported_feature", place + ": " + what};
}

inline std::string placeOf(const std::string& list, std::size_t index)
{
    return list + '[' + std::to_string(index) + ']';
}

} // namespace waste
