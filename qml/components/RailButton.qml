import QtQuick
import QtQuick.Templates as T

import Waste.Ui

// A page in the rail: icon above its word; a bar at the window's edge marks the one that is open.
T.AbstractButton {
    id: root

    required property string iconName
    property bool current: false

    implicitHeight: Theme.u(56)
    focusPolicy: Qt.StrongFocus
    Accessible.role: Accessible.PageTab
    Accessible.name: root.text
    Accessible.selected: root.current

    contentItem: Item {
        Column {
            anchors.centerIn: parent
            spacing: Theme.u(4)
            Icon {
                anchors.horizontalCenter: parent.horizontalCenter
                name: root.iconName
                size: Theme.u(20)
                color: root.current ? Theme.accentText : Theme.text2
            }
            UiText {
                anchors.horizontalCenter: parent.horizontalCenter
                text: root.text
                font: Theme.face(11, root.current ? Font.DemiBold : Font.Medium)
                color: root.current ? Theme.accentText : Theme.text2
            }
        }
    }
    background: Item {
        Rectangle {
            anchors.fill: parent
            anchors.leftMargin: Theme.gapSmall
            anchors.rightMargin: Theme.gapSmall
            anchors.topMargin: Theme.u(2)
            anchors.bottomMargin: Theme.u(2)
            radius: Theme.radius
            color: root.current ? Theme.accentSoft : root.hovered ? Theme.hover : "transparent"
            FocusRing {
                visible: root.visualFocus
            }
        }
        Rectangle {
            visible: root.current
            width: Theme.u(3)
            height: parent.height - Theme.u(16)
            anchors.left: parent.left
            anchors.verticalCenter: parent.verticalCenter
            color: Theme.accent
        }
    }
}
