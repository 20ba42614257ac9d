set_tests_properties(tst_image_limits PROPERTIES LABELS slow)
# Qt draws some of the pictures that our own decoder reads.
if(TARGET Qt6::Gui)
    foreach(test tst_image_preparation tst_picture_mutations)
        target_link_libraries(${test} PRIVATE Qt6::Gui)
        set_target_properties(${test} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON) # parsed without Qt Gui
    endforeach()
    set_tests_properties(tst_picture_mutations PROPERTIES LABELS slow)
endif()
