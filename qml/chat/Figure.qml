import QtQuick

import Waste.App
import Waste.Ui

// A measured value, and its unit in prose.
Row {
    id: root

    required property int index // into App.status.figures
    readonly property FigureRow row: root.parent as FigureRow

    visible: root.row !== null && root.index < root.row.countMax
    height: root.row !== null ? root.row.height : implicitHeight
    spacing: Theme.u(5)

    UiText {
        height: root.height
        text: App.status.figures[root.index]?.value ?? ""
        font: Theme.figure
    }
    UiText {
        height: root.height
        text: App.status.figures[root.index]?.unit ?? ""
        font: Theme.label
        color: Theme.text2
    }
}
