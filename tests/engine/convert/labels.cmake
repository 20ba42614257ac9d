# Whole conversions, one of them of the built-in model, and codebooks fitted with all effort.
foreach(test tst_round_trip tst_quantiser_errors tst_converter tst_resumed_converter tst_interrupted_converter
        tst_failing_conversion tst_followed_download tst_reclaim tst_conversion_memory)
    set_tests_properties(${test} PROPERTIES LABELS slow COST 100)
endforeach()
target_sources(tst_conversion_memory PRIVATE support/counted_memory/counted_memory.cpp)
