import QtQuick

import Waste.Ui

// Ground of popups and toasts: a hairline, and a shadow made of nested rectangles (none in high contrast).
Item {
    id: root

    property real radius: Theme.radiusCard

    Repeater {
        model: Theme.highContrast ? 0 : 6
        delegate: Rectangle {
            required property int index
            readonly property real grow: 2 * (index + 1)
            x: -grow
            y: 5 - grow
            width: root.width + 2 * grow
            height: root.height + 2 * grow
            radius: root.radius + grow
            color: Qt.rgba(0, 0, 0, Theme.light ? 0.018 : 0.075)
        }
    }
    Rectangle {
        anchors.fill: parent
        radius: root.radius
        color: Theme.surface
        border.width: Theme.hairline
        border.color: Theme.highContrast ? Theme.lineStrong : Theme.line
    }
}
