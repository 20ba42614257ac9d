import QtQuick

import Waste.Ui

// One row of a TableBlock.
Item {
    id: root

    required property bool header
    required property var cells
    required property var alignments

    readonly property real cellWidth: root.cells.length > 0 ? root.width / root.cells.length : root.width

    implicitHeight: line.implicitHeight + Theme.u(12)

    Row {
        id: line
        y: Theme.u(6)
        Repeater {
            model: root.cells
            delegate: ReadingText {
                required property int index
                required property string modelData
                width: root.cellWidth
                rightPadding: index + 1 < root.cells.length ? Theme.gap : 0
                content: modelData
                name: modelData
                textFont: root.header ? Theme.labelStrong : Theme.body
                color: root.header ? Theme.text2 : Theme.text
                horizontalAlignment: root.alignments[index] ?? TextEdit.AlignLeft
            }
        }
    }
    Rectangle {
        anchors.bottom: parent.bottom
        width: parent.width
        height: root.header ? Math.max(1, Theme.hairline) : Theme.hairline
        color: root.header || Theme.highContrast ? Theme.lineStrong : Theme.line
    }
}
