# Files of one instruction set get its flags, and they alone. -O3 whatever the build type: below it the
# compiler leaves short loops over arrays of registers as loops over memory, a quarter of the speed.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    if(MINGW)
        # GCC moves registers of 32 and 64 bytes to the stack and back as if it were aligned to them, which it is not on Windows
        # (GCC bug 54412). The assembler writes moves that take any address; where it is aligned they are no slower.
        set(any_address "-Wa,-muse-unaligned-vector-move")
    endif()
    set_source_files_properties(kernels/x86_avx2.cpp kernels/x86_avx2_codes.cpp kernels/x86_avx2_planes.cpp
        kernels/x86_avx2_tables.cpp kernels/x86_avx2_panels.cpp kernels/x86_avx2_products.cpp
        kernels/x86_avx2_weights.cpp kernels/x86_avx2_words.cpp
        PROPERTIES COMPILE_OPTIONS "-O3;-mavx2;-mfma;-mf16c;${any_address}" SKIP_PRECOMPILE_HEADERS ON)
    set_source_files_properties(kernels/x86_avxvnni.cpp kernels/x86_avxvnni_products.cpp
        PROPERTIES COMPILE_OPTIONS "-O3;-mavx2;-mfma;-mf16c;-mavxvnni;${any_address}" SKIP_PRECOMPILE_HEADERS ON)
    # GCC 12 takes the undefined upper operand of its own intrinsics for a mistake of ours.
    set(avx512 "-O3;-mavx2;-mfma;-mf16c;-mavx512f;-mavx512bw;-mavx512vl;-mavx512dq;-Wno-uninitialized;${any_address}")
    set_source_files_properties(kernels/x86_avx512.cpp kernels/x86_avx512_codes.cpp
        kernels/x86_avx512_functions.cpp kernels/x86_avx512_panels.cpp kernels/x86_avx512_products.cpp
        kernels/x86_avx512_vectors.cpp kernels/x86_avx512_weights.cpp
        PROPERTIES COMPILE_OPTIONS "${avx512}" SKIP_PRECOMPILE_HEADERS ON)
    set_source_files_properties(kernels/x86_avx512vbmi.cpp kernels/x86_avx512vbmi_products.cpp
        kernels/x86_avx512vbmi_tables.cpp kernels/x86_avx512vbmi_exact_tables.cpp
        kernels/x86_avx512vbmi_words.cpp
        PROPERTIES COMPILE_OPTIONS "${avx512};-mavx512vbmi;-mavx512vnni" SKIP_PRECOMPILE_HEADERS ON)
    set_source_files_properties(kernels/x86_clmul.cpp PROPERTIES COMPILE_OPTIONS "-O3;-msse4.1;-mpclmul" SKIP_PRECOMPILE_HEADERS ON)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64|ARM64")
    set_source_files_properties(kernels/arm_neon.cpp kernels/arm_neon_codes.cpp kernels/arm_neon_planes.cpp
        kernels/arm_neon_tables.cpp kernels/arm_neon_panels.cpp kernels/arm_neon_weights.cpp
        kernels/arm_neon_words.cpp
        PROPERTIES COMPILE_OPTIONS "-O3" SKIP_PRECOMPILE_HEADERS ON)
    set_source_files_properties(kernels/arm_neon_dotprod.cpp PROPERTIES COMPILE_OPTIONS "-O3;-march=armv8.2-a+dotprod" SKIP_PRECOMPILE_HEADERS ON)
    set_source_files_properties(kernels/arm_pmull.cpp PROPERTIES COMPILE_OPTIONS "-O3;-march=armv8-a+crypto" SKIP_PRECOMPILE_HEADERS ON)
endif()
