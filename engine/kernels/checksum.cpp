#include "kernels/checksum.h"

#include "base/crc32.h"
#include "kernels/x86_clmul.h"
#include "platform/cpu_features.h"

#include <cstdlib>
#include <string_view>

namespace waste::kernels {
namespace {

bool canFold()
{
#if defined(__x86_64__)
    static const bool folds = [] {
        const char* isa = std::getenv("WASTE_ISA");
        return CpuFeatures::detect().pclmul && (isa == nullptr || std::string_view(isa) != "scalar");
    }();
    return folds;
#else
    return false;
#endif
}

} // namespace

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t previous)
{
#if defined(__x86_64__)
    if (canFold() && bytes.size() >= kFoldedBytesMin) {
        const std::size_t folded = bytes.size() / kFoldedBytesStep * kFoldedBytesStep;
        const std::uint32_t state = foldCrc32(~previous, bytes.data(), folded);
        return waste::crc32(bytes.subspan(folded), ~state);
    }
#endif
    return waste::crc32(bytes, previous);
}

const char* crc32Method()
{
    return canFold() ? "clmul" : "slice8";
}

} // namespace waste::kernels
