# The window's program. Each folder adds its part: chat, settings, desktop; later sessions, models,
# conversion and dashboard.
find_package(Qt6 6.4 REQUIRED COMPONENTS Core Gui Qml Quick QuickControls2 Network)
# Not by its CMake package: Debian's names a second library that comes in another package.
find_path(MD4C_INCLUDE_DIR md4c.h REQUIRED)
find_library(MD4C_LIBRARY md4c REQUIRED)

set(CMAKE_AUTOMOC ON)
file(GLOB app_sources CONFIGURE_DEPENDS chat/*.cpp chat/*.h settings/*.cpp settings/*.h
    desktop/app.cpp desktop/app.h desktop/no_network.cpp desktop/no_network.h)
qt_add_library(waste_app STATIC)
qt_add_qml_module(waste_app
    URI Waste.App
    VERSION 1.0
    RESOURCE_PREFIX /qt/qml
    OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/qml/Waste/App
    DEPENDENCIES QtQuick
    SOURCES ${app_sources})
# The generated registration includes headers by their names alone.
target_include_directories(waste_app PUBLIC . chat settings desktop PRIVATE ${MD4C_INCLUDE_DIR})
target_link_libraries(waste_app
    PUBLIC waste_host Qt6::Core Qt6::Gui Qt6::Qml Qt6::Quick Qt6::Network
    PRIVATE ${MD4C_LIBRARY} waste_flags)
target_precompile_headers(waste_app PRIVATE <QAbstractListModel> <QQmlEngine> <nlohmann/json.hpp> ${WASTE_COMMON_HEADERS})
target_compile_definitions(waste_app
    PUBLIC WASTE_VERSION="${PROJECT_VERSION}" QT_NO_CAST_TO_ASCII QT_NO_FOREACH)

file(GLOB desktop_sources CONFIGURE_DEPENDS desktop/main.cpp desktop/display.* desktop/first_run.* desktop/self_test.* desktop/window.*)
qt_add_executable(waste-desktop ${desktop_sources})
set_target_properties(waste-desktop PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
target_link_libraries(waste-desktop PRIVATE waste_app waste_appplugin waste_ui waste_uiplugin Qt6::QuickControls2 waste_flags)
install(TARGETS waste-desktop)
