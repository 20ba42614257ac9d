import QtQuick

import Waste.Ui

// Which page is open. Icons always with their word.
Rectangle {
    id: root

    required property int page
    signal pageChosen(page: int)

    implicitWidth: Theme.rail
    color: Theme.base
    Accessible.role: Accessible.PageTabList
    Accessible.name: qsTr("Pages")

    Image {
        id: mark
        anchors.horizontalCenter: parent.horizontalCenter
        y: Theme.u(14)
        width: Theme.u(32)
        height: width
        source: "qrc:/icons/app-icon.svg"
        sourceSize.width: width
        sourceSize.height: height
        Accessible.ignored: true
    }
    RailButton {
        anchors.top: mark.bottom
        anchors.topMargin: Theme.u(14)
        width: parent.width
        text: qsTr("Chat")
        iconName: "chat"
        current: root.page === Main.Chat
        onClicked: root.pageChosen(Main.Chat)
    }
    RailButton {
        anchors.bottom: parent.bottom
        anchors.bottomMargin: Theme.u(12)
        width: parent.width
        text: qsTr("Settings")
        iconName: "settings"
        current: root.page === Main.Settings
        onClicked: root.pageChosen(Main.Settings)
    }
    Rectangle {
        anchors.right: parent.right
        width: Theme.hairline
        height: parent.height
        color: Theme.highContrast ? Theme.lineStrong : Theme.line
    }
}
