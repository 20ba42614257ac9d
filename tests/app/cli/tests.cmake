# All of them run the built program on the built-in model or on golden containers.
file(GLOB tests CONFIGURE_DEPENDS app/cli/tst_*.cpp)
if(WIN32)
    list(FILTER tests EXCLUDE REGEX "tst_waste_(chat|convert|endings)") # signals and pseudo-terminals
endif()
foreach(test IN LISTS tests)
    waste_test(${test} LABELS program TIMEOUT 900)
endforeach()
