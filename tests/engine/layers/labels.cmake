# Whole models on every instruction set, and every place at which a chunk can be cut: 2 to 5 seconds of CPU.
set_tests_properties(tst_golden_models tst_decoder PROPERTIES LABELS slow COST 500)
target_sources(tst_decoder PRIVATE support/counted_memory/counted_memory.cpp)
