file(GLOB tests CONFIGURE_DEPENDS app/host/tst_*.cpp)
foreach(test IN LISTS tests)
    waste_test(${test} LINKS waste_host)
endforeach()
