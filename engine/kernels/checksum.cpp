#include "kernels/checksum.h"

#include "base/crc32.h"
#include "kernels/folded_crc32.h"
#include "platform/cpu_features.h"

#include <cstdlib>
#include <string_view>

namespace waste::kernels {
namespace {

// How this CPU folds, or null if it cannot, or must not.
const char* foldingMethod()
{
    static const char* const method = []() -> const char* {
        const char* isa = std::getenv("WASTE_ISA");
        if (isa != nullptr && std::string_view(isa) == "scalar")
            return nullptr;
        const CpuFeatures cpu = CpuFeatures::detect();
        return cpu.pclmul ? "clmul" : cpu.pmull ? "pmull" : nullptr;
    }();
    return method;
}

} // namespace

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t previous)
{
#if defined(__x86_64__) || defined(__aarch64__)
    if (foldingMethod() != nullptr && bytes.size() >= kFoldedBytesMin) {
        const std::size_t folded = bytes.size() / kFoldedBytesStep * kFoldedBytesStep;
        const std::uint32_t state = foldCrc32(~previous, bytes.data(), folded);
        return waste::crc32(bytes.subspan(folded), ~state);
    }
#endif
    return waste::crc32(bytes, previous);
}

const char* crc32Method()
{
    return foldingMethod() != nullptr ? foldingMethod() : "slice8";
}

} // namespace waste::kernels
