#pragma once

namespace waste {

// Instruction sets that both the CPU and the operating system (saved registers) support.
struct CpuFeatures {
    bool pclmul = false; // and SSE 4.1
    bool avx2 = false;
    bool fma = false;
    bool f16c = false;
    bool avxvnni = false; // of registers as wide as those of AVX2
    bool avx512f = false;
    bool avx512bw = false;
    bool avx512dq = false;
    bool avx512vl = false;
    bool avx512vnni = false;
    bool avx512vbmi = false;
    bool neon = false;
    bool dotprod = false;
    bool pmull = false;

    static CpuFeatures detect();
};

} // namespace waste
