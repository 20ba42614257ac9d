# The program as it is delivered: every page loads without a complaint; one question through the window.
add_test(NAME desktop_self_test COMMAND waste-desktop --self-test)
add_test(NAME desktop_first_run COMMAND waste-desktop --first-run ${CMAKE_BINARY_DIR}/tests/first-run.png)
set_tests_properties(desktop_self_test desktop_first_run PROPERTIES LABELS gui TIMEOUT 180
    ENVIRONMENT "QT_QPA_PLATFORM=offscreen;QT_QUICK_BACKEND=software")
set_tests_properties(desktop_first_run PROPERTIES PASS_REGULAR_EXPRESSION "answer: .*Tokyo")
