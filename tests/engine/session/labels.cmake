# Whole prompts and texts, every layer at which a run can be cut, and a conversion: 2 to 8 seconds of CPU.
set_tests_properties(tst_prefill tst_picture_splices tst_generation tst_interruption PROPERTIES LABELS slow COST 500)
set_tests_properties(tst_converted_model PROPERTIES LABELS slow COST 100)
target_sources(tst_allocations PRIVATE support/counted_memory/counted_memory.cpp)
# They open the built-in model as it is delivered; where it is not built they say so.
if(TARGET builtin_model)
    foreach(test tst_peak_memory tst_vision_on_demand)
        add_dependencies(${test} builtin_model)
    endforeach()
endif()
# Qt writes the JPEG files that it shows.
if(TARGET Qt6::Gui)
    target_link_libraries(tst_picture_answers PRIVATE Qt6::Gui)
    set_target_properties(tst_picture_answers PROPERTIES DISABLE_PRECOMPILE_HEADERS ON) # parsed without Qt Gui
    set_tests_properties(tst_picture_answers PROPERTIES LABELS slow COST 500)
    if(TARGET builtin_model)
        add_dependencies(tst_picture_answers builtin_model)
    endif()
endif()
