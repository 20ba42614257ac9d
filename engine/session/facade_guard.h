#pragma once

#include "waste/result.h"

#include <exception>
#include <new>
#include <utility>

namespace waste {

// Runs the body of a facade function; an exception of the standard library ends here and becomes an Error.
template<typename Body>
auto guarded(Body&& body) -> decltype(body())
{
    try {
        return std::forward<Body>(body)();
    } catch (const std::bad_alloc&) {
        return Error{ErrorCode::OutOfMemory, "out_of_memory", "the system has no more memory for this program"};
    } catch (const std::exception& exception) {
        return Error{ErrorCode::Internal, "internal", std::string("unexpected: ") + exception.what()};
    }
}

} // namespace waste
