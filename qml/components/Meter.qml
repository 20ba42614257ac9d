import QtQuick

import Waste.Ui

// A part of one whole, drawn as a bar.
Rectangle {
    id: root

    required property real part
    property color ink: Theme.accent

    implicitHeight: Theme.u(6)
    radius: height / 2
    color: Theme.highContrast ? Theme.surface : Theme.line
    border.width: Theme.highContrast ? 1 : 0
    border.color: Theme.lineStrong
    Accessible.role: Accessible.ProgressBar

    Rectangle {
        width: root.part <= 0 ? 0 : Math.max(height, parent.width * Math.min(1, root.part))
        height: parent.height
        radius: height / 2
        color: root.ink
    }
}
