#include "container/integrity.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const auto integrity = waste::parseIntegrity({reinterpret_cast<const char*>(data), size}, "fuzz");
    if (integrity && waste::parseIntegrity(waste::composeIntegrity(*integrity), "again").value() != *integrity)
        __builtin_trap();
    return 0;
}
