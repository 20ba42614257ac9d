# PCRE2 judges the pattern of the pre-tokeniser.
find_package(PkgConfig REQUIRED)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
target_link_libraries(tst_pre_tokenizer PRIVATE PkgConfig::PCRE2)
