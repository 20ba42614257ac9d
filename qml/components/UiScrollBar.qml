import QtQuick
import QtQuick.Templates as T

import Waste.Ui

T.ScrollBar {
    id: root

    implicitWidth: Theme.u(10)
    implicitHeight: Theme.u(10)
    padding: Theme.u(2)
    minimumSize: 0.06
    visible: root.size < 1

    contentItem: Rectangle {
        radius: Math.min(width, height) / 2
        color: root.pressed || root.hovered ? Theme.text3 : Theme.highContrast ? Theme.lineStrong : Theme.line
    }
}
