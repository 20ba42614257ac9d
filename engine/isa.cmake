# Files of one instruction set get its flags, and they alone.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set_source_files_properties(kernels/x86_avx2.cpp kernels/x86_avx2_weights.cpp PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma;-mf16c")
endif()
