import QtQuick

import Waste.Ui

// One of the nested rectangles around and behind a surface that make its shadow.
Rectangle {
    required property int index
    readonly property real grow: 2 * (index + 1)

    z: -1 // behind the surface, which is its parent
    anchors.fill: parent
    anchors.margins: -grow
    anchors.topMargin: 5 - grow
    anchors.bottomMargin: -grow - 5
    radius: Math.min(Theme.radiusCard + grow, height / 2)
    color: Qt.rgba(0, 0, 0, Theme.light ? 0.018 : 0.075)
}
