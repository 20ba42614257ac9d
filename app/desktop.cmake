# The window's program. Filled by folder: chat, sessions, models, conversion, dashboard, settings, desktop.
