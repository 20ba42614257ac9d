# All of them run the built program on the built-in model or on golden containers.
file(GLOB tests CONFIGURE_DEPENDS app/cli/tst_*.cpp)
foreach(test IN LISTS tests)
    waste_test(${test} LABELS program TIMEOUT 900)
endforeach()
