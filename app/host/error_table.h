#pragma once

#include "waste/result.h"

#include <nlohmann/json_fwd.hpp>

#include <string_view>

namespace waste::host {

// What an ErrorCode becomes outside: one table for the whole program (spec: cli B.3).
struct ErrorKind {
    int exitCode;
    std::string_view jsonCode;
    std::string_view reason; // for an error that carries none of its own; may be empty
};
const ErrorKind& errorKind(ErrorCode code);

// {"event":"error","code":…,"reason":…,"message":…,"exit":…}; `reason` only where there is one.
nlohmann::ordered_json errorEvent(const Error& error);

} // namespace waste::host
