#pragma once

#include "waste/result.h"
#include "waste/session.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace waste::state {

// Consecutive positions that hold the rows of a picture.
struct PictureSpan {
    std::uint64_t position = 0;
    std::uint64_t count = 0;
    friend bool operator==(const PictureSpan&, const PictureSpan&) = default;
};

// The JSON section of a state file (spec: model 9.1).
struct Metadata {
    std::string createdUtc; // ISO 8601
    std::string modelName; // for people; the fingerprint decides
    SamplingOptions sampling; // of the last generate()
    std::uint64_t randomState = 0; // before the next draw
    std::vector<PictureSpan> pictures; // ascending, disjoint, inside the evaluated positions
};

std::string encodeMetadata(const Metadata& metadata);

// Unknown members are passed over. Pictures must lie below `position`. Errors: Corrupt with reason "damaged".
Result<Metadata> parseMetadata(std::string_view json, std::uint64_t position, std::string_view file);

} // namespace waste::state
