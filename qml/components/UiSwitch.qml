import QtQuick
import QtQuick.Templates as T

import Waste.Ui

T.Switch {
    id: root

    required property string name

    implicitWidth: Theme.u(36)
    implicitHeight: Theme.u(24)
    focusPolicy: Qt.StrongFocus
    Accessible.name: root.name

    indicator: Rectangle {
        width: Theme.u(36)
        height: Theme.u(20)
        y: (root.height - height) / 2
        radius: height / 2
        color: root.checked ? Theme.accent : Theme.surface
        border.width: Theme.hairline
        border.color: root.checked ? Theme.accent : Theme.lineStrong
        Rectangle {
            width: Theme.u(14)
            height: width
            radius: width / 2
            x: root.checked ? parent.width - width - Theme.u(3) : Theme.u(3)
            y: Theme.u(3)
            color: root.checked ? Theme.accentInk : Theme.lineStrong
            Behavior on x {
                NumberAnimation { duration: Theme.durationFast }
            }
        }
        FocusRing {
            targetRadius: parent.radius
            visible: root.visualFocus
        }
    }
}
