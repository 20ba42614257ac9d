waste_test(tidy/tst_tidy.cpp)
target_compile_definitions(tst_tidy PRIVATE WASTE_KERNELS_ARCHIVE="$<TARGET_FILE:waste_kernels>"
    WASTE_NM="${CMAKE_NM}" WASTE_OBJDUMP="${CMAKE_OBJDUMP}")
add_dependencies(tst_tidy waste_kernels)
