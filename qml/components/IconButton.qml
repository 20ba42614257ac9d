import QtQuick
import QtQuick.Templates as T

import Waste.Ui

// A button that is only an icon; its name is the tooltip and what a screen reader says.
T.Button {
    id: root

    required property string name
    required property string iconName
    property bool on: false // what it stands for is open or chosen

    implicitWidth: Theme.u(28)
    implicitHeight: Theme.u(28)
    focusPolicy: Qt.StrongFocus
    hoverEnabled: true
    Accessible.name: root.name

    contentItem: Item {
        Icon {
            anchors.centerIn: parent
            name: root.iconName
            color: !root.enabled ? Theme.text3 : root.on ? Theme.accentText : Theme.text2
        }
    }
    background: Rectangle {
        radius: Theme.radius
        color: root.on ? Theme.accentSoft : root.enabled && (root.hovered || root.down) ? Theme.hover : "transparent"
        FocusRing {
            visible: root.visualFocus
        }
    }

    UiToolTip {
        text: root.name
        visible: root.hovered
    }
}
