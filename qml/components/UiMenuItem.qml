import QtQuick
import QtQuick.Templates as T

import Waste.Ui

T.MenuItem {
    id: root

    property string iconName: ""

    implicitWidth: words.implicitWidth + Theme.u(64)
    implicitHeight: Theme.control
    Accessible.name: root.text

    contentItem: Item {
        Icon {
            x: Theme.u(6)
            anchors.verticalCenter: parent.verticalCenter
            name: root.iconName
            size: Theme.u(16)
            color: root.enabled ? Theme.text2 : Theme.text3
        }
        UiText {
            id: words
            anchors.left: parent.left
            anchors.leftMargin: Theme.u(32)
            height: parent.height
            text: root.text
            color: root.enabled ? Theme.text : Theme.text3
        }
        Icon {
            anchors.right: parent.right
            anchors.rightMargin: Theme.u(8)
            anchors.verticalCenter: parent.verticalCenter
            visible: root.checked
            name: "check"
            size: Theme.iconSmall
            color: Theme.accentText
        }
    }
    background: Rectangle {
        radius: Theme.radiusChip
        color: root.highlighted ? Theme.hover : "transparent"
    }
}
