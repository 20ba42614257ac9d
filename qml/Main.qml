import QtQuick
import QtQuick.Layouts
import QtQuick.Templates as T

import Waste.App
import Waste.Ui

// The window: the rail with its pages at the left, the open page beside it.
T.ApplicationWindow {
    id: root

    enum Page { Chat, Settings }

    property int page: Main.Chat

    function show(page: int): void {
        root.page = page;
    }

    width: 1280
    height: 820
    minimumWidth: 640
    minimumHeight: 480
    visible: true
    title: root.page === Main.Chat && !App.chat.empty ? qsTr("%1 – WASTE").arg(App.chat.title) : qsTr("WASTE Desktop")
    color: Theme.page
    font: Theme.body

    LayoutMirroring.enabled: Application.layoutDirection === Qt.RightToLeft
    LayoutMirroring.childrenInherit: true

    RowLayout {
        anchors.fill: parent
        spacing: 0

        NavigationRail {
            Layout.fillHeight: true
            page: root.page
            onPageChosen: page => root.show(page)
        }
        ChatPage {
            id: chatPage
            objectName: "chatPage"
            Layout.fillWidth: true
            Layout.fillHeight: true
            visible: root.page === Main.Chat
            focus: visible
        }
        SettingsPage {
            objectName: "settingsPage"
            Layout.fillWidth: true
            Layout.fillHeight: true
            visible: root.page === Main.Settings
            focus: visible
        }
    }

    PictureDrop {
        anchors.fill: parent
        onDropped: root.show(Main.Chat)
    }
    WindowShortcuts {
        chatPage: chatPage
        onPageChosen: page => root.show(page)
    }
}
