import QtQuick

import Waste.Ui

// Drawn outside its parent with one pixel of air between, so that it shows on every colour.
Rectangle {
    property real targetRadius: Theme.radius

    anchors.fill: parent
    anchors.margins: -(Theme.focusWidth + 1)
    visible: false // the owner binds it to its focus
    radius: targetRadius + Theme.focusWidth + 1
    color: "transparent"
    border.width: Theme.focusWidth
    border.color: Theme.focus
}
