import QtQuick

import Waste.Ui

// A table: strong rule under its header, hairlines between rows, edges flush with the text.
Item {
    id: root

    required property var cells // rich text, row by row, header first
    required property int columnCount
    required property var alignments

    readonly property int rowCount: root.columnCount > 0 ? Math.floor(root.cells.length / root.columnCount) : 0

    width: parent ? parent.width : 0
    implicitHeight: grid.implicitHeight + Theme.hairline
    Accessible.role: Accessible.Table
    Accessible.name: qsTr("Table, rows: %1").arg(Math.max(0, root.rowCount - 1))

    TableGrid {
        id: grid
        width: root.width
        columns: Math.max(1, root.columnCount)
        alignments: root.alignments
        Repeater {
            model: root.cells
            delegate: TableCell {}
        }
    }
    Rectangle {
        anchors.bottom: parent.bottom
        width: parent.width
        height: Theme.hairline
        color: Theme.highContrast ? Theme.lineStrong : Theme.line
    }
}
