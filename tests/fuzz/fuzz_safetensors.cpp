// A whole safetensors file in memory, then the header's JSON by itself.

#include "base/little_endian.h"
#include "checkpoint/safetensors.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    using namespace waste;
    const auto file = std::as_bytes(std::span(data, size));
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    (void)parseSafetensorsHeader(text, kSafetensorsPreambleBytes + size + 1000, "fuzz");
    if (size < kSafetensorsPreambleBytes)
        return 0;
    const auto headerBytes = safetensorsHeaderBytes(loadLittle<std::uint64_t>(file, 0), size, "fuzz");
    if (!headerBytes)
        return 0;
    const auto header = parseSafetensorsHeader(text.substr(kSafetensorsPreambleBytes, *headerBytes), size, "fuzz");
    if (!header)
        return 0;
    for (const SafetensorsEntry& entry : header->entries) {
        if (entry.offsetBytes > size || entry.bytes > size - entry.offsetBytes
            || entry.bytes != elementCount(entry.shape) * tensorTypeBytes(entry.type))
            std::abort(); // what was promised does not hold
    }
    return 0;
}
