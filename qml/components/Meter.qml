import QtQuick

import Waste.Ui

// One value of one whole, drawn as a bar. A negative `part` means that the end is not known.
Rectangle {
    id: root

    property real part: 0
    property color ink: Theme.accent
    property bool stalled: false

    implicitHeight: Theme.u(6)
    radius: height / 2
    color: Theme.highContrast ? Theme.surface : Theme.light ? Theme.line : Theme.line
    border.width: Theme.highContrast ? 1 : 0
    border.color: Theme.lineStrong
    Accessible.role: Accessible.ProgressBar

    Row {
        // The end is not known: dots, no fill.
        visible: root.part < 0
        anchors.centerIn: parent
        spacing: Theme.u(8)
        Repeater {
            model: root.part < 0 ? Math.max(0, Math.floor((root.width - 8) / (Theme.u(8) + Theme.u(4)))) : 0
            delegate: MeterDot {}
        }
    }
    Rectangle {
        width: root.part <= 0 ? 0 : Math.max(height, parent.width * Math.min(1, root.part))
        height: parent.height
        radius: height / 2
        color: root.stalled ? Theme.warnMark : root.ink
    }
}
