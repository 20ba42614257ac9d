#include "multiply_add_loop.h"

namespace waste::benchmark {

void multiplyAdd512(std::uint64_t rounds, float& sink)
{
    using Vector [[gnu::vector_size(64)]] = float;
    multiplyAdd<Vector>(rounds, sink);
}

} // namespace waste::benchmark
