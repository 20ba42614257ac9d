#include "multiply_add_loop.h"

namespace waste::benchmark {

void multiplyAdd256(std::uint64_t rounds, float& sink)
{
    using Vector [[gnu::vector_size(32)]] = float;
    multiplyAdd<Vector>(rounds, sink);
}

} // namespace waste::benchmark
