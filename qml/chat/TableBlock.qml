import QtQuick

import Waste.Ui

// A table: strong rule under its header, hairlines between rows. Columns share the width by their content.
Item {
    id: root

    required property var cells // rich text, row by row, header first
    required property int columnCount
    required property var alignments

    readonly property int rowCount: root.columnCount > 0 ? Math.floor(root.cells.length / root.columnCount) : 0

    implicitHeight: rows.implicitHeight
    Accessible.role: Accessible.Table
    Accessible.name: qsTr("Table, rows: %1").arg(Math.max(0, root.rowCount - 1))

    Column {
        id: rows
        width: root.width
        Repeater {
            model: root.rowCount
            delegate: TableRow {
                required property int index
                width: rows.width
                header: index === 0
                cells: root.cells.slice(index * root.columnCount, (index + 1) * root.columnCount)
                alignments: root.alignments
            }
        }
    }
}
