# Qt draws the pictures that our own decoder reads.
find_package(Qt6 6.4 REQUIRED COMPONENTS Gui)
target_link_libraries(tst_image_preparation PRIVATE Qt6::Gui)
set_target_properties(tst_image_preparation PROPERTIES DISABLE_PRECOMPILE_HEADERS ON) # parsed without Qt Gui
