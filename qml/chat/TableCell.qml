import QtQuick

import Waste.Ui

// One cell with the line above it: none over the header, a strong one below it, hairlines from there on.
ReadingText {
    id: root

    required property int index
    required property string modelData

    readonly property TableGrid grid: root.parent as TableGrid
    readonly property int columnCount: root.grid !== null ? root.grid.columns : 1
    readonly property int column: root.index % root.columnCount
    readonly property bool header: root.index < root.columnCount
    readonly property bool belowHeader: !root.header && root.index < 2 * root.columnCount

    width: root.grid !== null ? root.grid.cellWidth : 0
    topPadding: Theme.u(6)
    bottomPadding: Theme.u(6)
    rightPadding: root.column + 1 < root.columnCount ? Theme.gap : 0
    content: root.modelData
    name: root.modelData
    lineHeight: Theme.bodyLine
    textFont: root.header ? Theme.labelStrong : Theme.body
    color: root.header ? Theme.text2 : Theme.text
    horizontalAlignment: root.grid !== null ? root.grid.alignments[root.column] ?? TextEdit.AlignLeft : TextEdit.AlignLeft

    Rectangle {
        visible: !root.header
        width: root.width
        height: Theme.hairline
        color: root.belowHeader || Theme.highContrast ? Theme.lineStrong : Theme.line
    }
}
