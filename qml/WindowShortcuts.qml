import QtQuick

import Waste.App
import Waste.Ui

// Keys that work anywhere in the window.
Item {
    id: root

    required property ChatPage chatPage
    signal pageChosen(page: int)

    Shortcut {
        sequence: "Ctrl+N"
        onActivated: {
            root.pageChosen(Main.Chat);
            App.chat.newChat();
            root.chatPage.focusComposer();
        }
    }
    Shortcut {
        sequence: "Ctrl+K"
        onActivated: {
            root.pageChosen(Main.Chat);
            root.chatPage.focusSearch();
        }
    }
    Shortcut {
        sequence: "Ctrl+L"
        onActivated: {
            root.pageChosen(Main.Chat);
            root.chatPage.focusComposer();
        }
    }
    Shortcut {
        sequence: "Ctrl+R"
        enabled: App.chat.canRetry
        onActivated: App.chat.tryAgain()
    }
    Shortcut {
        sequence: "Ctrl+Shift+C"
        onActivated: root.chatPage.copyLastAnswer()
    }
    Shortcut {
        sequence: "F6"
        onActivated: root.chatPage.focusNextPane()
    }
    Shortcut {
        sequence: "Ctrl+1"
        onActivated: root.pageChosen(Main.Chat)
    }
    Shortcut {
        sequence: "Ctrl+,"
        onActivated: root.pageChosen(Main.Settings)
    }
    Shortcut {
        sequences: ["Ctrl++", "Ctrl+="]
        onActivated: App.settings.zoomBy(1)
    }
    Shortcut {
        sequence: "Ctrl+-"
        onActivated: App.settings.zoomBy(-1)
    }
    Shortcut {
        sequence: "Ctrl+0"
        onActivated: App.settings.zoom = 1
    }
}
