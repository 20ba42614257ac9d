# A thousand containers are written, opened and read.
set_tests_properties(tst_mutations PROPERTIES LABELS slow COST 100)
