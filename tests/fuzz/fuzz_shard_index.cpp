#include "checkpoint/shard_index.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    (void)waste::parseShardIndex({reinterpret_cast<const char*>(data), size}, "fuzz");
    return 0;
}
