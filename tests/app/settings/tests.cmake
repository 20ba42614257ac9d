waste_test(app/settings/tst_app_settings.cpp LINKS waste_app Qt6::QuickControls2 HEADERS waste_window_driver)
