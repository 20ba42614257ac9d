import QtQuick

import Waste.Ui

// Two to four short choices side by side; arrow keys move the choice.
FocusScope {
    id: root

    required property string name
    required property var choices // texts
    property int current: 0
    signal chosen(index: int)

    implicitWidth: row.implicitWidth + Theme.u(4)
    implicitHeight: Theme.control
    Accessible.role: Accessible.Grouping
    Accessible.name: root.name

    Rectangle {
        anchors.fill: parent
        radius: Theme.radius
        color: Theme.sunken
        border.width: Theme.hairline
        border.color: Theme.lineStrong
    }
    SegmentedRow {
        id: row
        x: Theme.u(2)
        y: Theme.u(2)
        height: root.height - Theme.u(4)
        current: root.current
        count: root.choices.length
        onChosen: index => root.chosen(index)
        Repeater {
            model: root.choices
            delegate: SegmentedChoice {}
        }
    }
}
