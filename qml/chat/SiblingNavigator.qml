import QtQuick

import Waste.App
import Waste.Ui

// ‹ 2 of 3 ›: other versions of the same message. Nothing is ever overwritten.
Row {
    id: root

    required property string messageId
    required property int siblingIndex
    required property int siblingCount

    visible: root.siblingCount > 1
    spacing: Theme.u(2)

    IconButton {
        anchors.verticalCenter: parent.verticalCenter
        height: Theme.u(24)
        width: Theme.u(24)
        enabled: root.siblingIndex > 1
        name: qsTr("Version before")
        iconName: "chevron-left"
        onClicked: App.chat.showSibling(root.messageId, -1)
    }
    UiText {
        height: parent.height
        text: qsTr("%1 of %2").arg(root.siblingIndex).arg(root.siblingCount)
        font: Theme.caption
        color: Theme.text2
    }
    IconButton {
        anchors.verticalCenter: parent.verticalCenter
        height: Theme.u(24)
        width: Theme.u(24)
        enabled: root.siblingIndex < root.siblingCount
        name: qsTr("Version after")
        iconName: "chevron-right"
        onClicked: App.chat.showSibling(root.messageId, 1)
    }
}
