# Qt draws some of the pictures that our own decoder reads.
find_package(Qt6 6.4 REQUIRED COMPONENTS Gui)
foreach(test tst_image_preparation tst_picture_mutations)
    target_link_libraries(${test} PRIVATE Qt6::Gui)
    set_target_properties(${test} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON) # parsed without Qt Gui
endforeach()
set_tests_properties(tst_image_limits tst_picture_mutations PROPERTIES LABELS slow)
