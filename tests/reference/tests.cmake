find_package(Python3 COMPONENTS Interpreter QUIET)
waste_test(reference/tst_reference_reader.cpp LINKS waste_session waste_convert LABELS slow)
target_compile_definitions(tst_reference_reader PRIVATE WASTE_PYTHON="$<$<BOOL:${Python3_FOUND}>:${Python3_EXECUTABLE}>")
add_dependencies(tst_reference_reader builtin_model)
