# The program as it is delivered: every page loads without a complaint; one question through the window.
add_test(NAME desktop_self_test COMMAND waste-desktop --self-test)
add_test(NAME desktop_first_run COMMAND waste-desktop --first-run ${CMAKE_BINARY_DIR}/tests/first-run.png)
math(EXPR seconds "180 * ${WASTE_PATIENCE}")
set_tests_properties(desktop_self_test desktop_first_run PROPERTIES LABELS gui TIMEOUT ${seconds}
    ENVIRONMENT "QT_QPA_PLATFORM=offscreen;QT_QUICK_BACKEND=software")
set_tests_properties(desktop_first_run PROPERTIES PASS_REGULAR_EXPRESSION "answer: .*Tokyo")
waste_test(app/desktop/tst_display.cpp LABELS gui)
target_compile_definitions(tst_display PRIVATE WASTE_DESKTOP_PROGRAM="$<TARGET_FILE:waste-desktop>")

# The window itself, driven in the process of the test.
find_package(Qt6 6.4 REQUIRED COMPONENTS QuickTest)
add_library(waste_window_driver STATIC app/desktop/window_driver.cpp app/desktop/window_driver.h
    ${PROJECT_SOURCE_DIR}/app/desktop/window.cpp)
target_include_directories(waste_window_driver PUBLIC app/desktop)
target_link_libraries(waste_window_driver
    PUBLIC waste_test_support waste_app waste_appplugin waste_ui waste_uiplugin Qt6::QuickControls2 PRIVATE waste_flags)
target_precompile_headers(waste_window_driver PRIVATE <QTest> <QQuickItem> <QQuickWindow> <nlohmann/json.hpp>
    ${WASTE_COMMON_HEADERS})
foreach(test keyboard transcript accessibility pictures picture_refusals resizing)
    waste_test(app/desktop/tst_${test}.cpp LINKS waste_window_driver HEADERS waste_window_driver LABELS gui)
endforeach()

# Components by themselves, in Qt Quick Test.
waste_test(qml/tst_components.cpp LINKS waste_window_driver Qt6::QuickTest HEADERS waste_window_driver
    LABELS gui)
target_compile_definitions(tst_components PRIVATE QUICK_TEST_SOURCE_DIR="${CMAKE_CURRENT_SOURCE_DIR}/qml")
