#include "platform/cpu_features.h"

#include <cstdint>

#if defined(__x86_64__) || defined(_M_X64)
#if defined(_MSC_VER)
#include <intrin.h>
#else
#include <cpuid.h>
#endif
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace waste {

#if defined(__x86_64__) || defined(_M_X64)
namespace {

struct CpuIdRegisters {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    std::uint32_t c = 0;
    std::uint32_t d = 0;
};

// All zero for a leaf that the CPU does not have.
CpuIdRegisters cpuId(std::uint32_t leaf, std::uint32_t part = 0)
{
    CpuIdRegisters registers;
#if defined(_MSC_VER)
    int values[4] = {};
    __cpuid(values, 0);
    if (static_cast<std::uint32_t>(values[0]) < leaf)
        return registers;
    __cpuidex(values, static_cast<int>(leaf), static_cast<int>(part));
    registers = {static_cast<std::uint32_t>(values[0]), static_cast<std::uint32_t>(values[1]),
        static_cast<std::uint32_t>(values[2]), static_cast<std::uint32_t>(values[3])};
#else
    __get_cpuid_count(leaf, part, &registers.a, &registers.b, &registers.c, &registers.d);
#endif
    return registers;
}

// Which registers the operating system saves when it switches threads. Needs the OSXSAVE bit.
std::uint64_t savedRegisters()
{
#if defined(_MSC_VER)
    return _xgetbv(0);
#else
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (std::uint64_t{high} << 32) | low;
#endif
}

constexpr bool bit(std::uint32_t value, unsigned number)
{
    return ((value >> number) & 1U) != 0;
}

} // namespace

CpuFeatures CpuFeatures::detect()
{
    CpuFeatures features;
    const CpuIdRegisters basic = cpuId(1);
    features.pclmul = bit(basic.c, 1) && bit(basic.c, 19);
    const bool hasSavedRegisters = bit(basic.c, 27);
    if (!hasSavedRegisters)
        return features;
    constexpr std::uint64_t kYmm = 0x06; // xmm, upper halves of ymm
    constexpr std::uint64_t kZmm = 0xE6; // and mask registers, zmm
    const std::uint64_t saved = savedRegisters();
    const CpuIdRegisters extended = cpuId(7);
    if ((saved & kYmm) == kYmm && bit(basic.c, 28)) {
        features.fma = bit(basic.c, 12);
        features.f16c = bit(basic.c, 29);
        features.avx2 = bit(extended.b, 5);
        features.avxvnni = extended.a > 0 && bit(cpuId(7, 1).a, 4); // `a` counts the parts of this leaf
    }
    if ((saved & kZmm) == kZmm && features.avx2) {
        features.avx512f = bit(extended.b, 16);
        features.avx512dq = bit(extended.b, 17);
        features.avx512bw = bit(extended.b, 30);
        features.avx512vl = bit(extended.b, 31);
        features.avx512vbmi = bit(extended.c, 1);
        features.avx512vnni = bit(extended.c, 11);
    }
    return features;
}

#elif defined(__aarch64__) || defined(_M_ARM64)

CpuFeatures CpuFeatures::detect()
{
    CpuFeatures features;
    features.neon = true; // part of the architecture
#if defined(__linux__)
    constexpr unsigned long kDotProduct = 1UL << 20; // HWCAP_ASIMDDP
    constexpr unsigned long kPolynomialProduct = 1UL << 4; // HWCAP_PMULL
    features.dotprod = (getauxval(AT_HWCAP) & kDotProduct) != 0;
    features.pmull = (getauxval(AT_HWCAP) & kPolynomialProduct) != 0;
#elif defined(__APPLE__)
    const auto has = [](const char* name) {
        int value = 0;
        std::size_t size = sizeof(value);
        return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
    };
    features.dotprod = has("hw.optional.arm.FEAT_DotProd");
    features.pmull = has("hw.optional.arm.FEAT_PMULL");
#endif
    return features;
}

#else

CpuFeatures CpuFeatures::detect()
{
    return {};
}

#endif

} // namespace waste
