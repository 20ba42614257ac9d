# A thousand containers are written, opened and read; ten times as many under the sanitizers.
set_tests_properties(tst_mutations PROPERTIES LABELS slow COST 100 TIMEOUT 1800)
