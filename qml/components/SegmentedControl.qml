import QtQuick
import QtQuick.Templates as T

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
    Row {
        id: row
        x: Theme.u(2)
        y: Theme.u(2)
        Repeater {
            model: root.choices
            delegate: SegmentedChoice {
                required property int index
                required property string modelData
                text: modelData
                height: root.height - Theme.u(4)
                chosen: index === root.current
                onClicked: root.chosen(index)
                Keys.onLeftPressed: root.chosen(Math.max(0, root.current - 1))
                Keys.onRightPressed: root.chosen(Math.min(root.choices.length - 1, root.current + 1))
            }
        }
    }
}
