import QtQuick

import Waste.Ui

// A card of settings that belong together.
Rectangle {
    id: root

    required property string title
    default property alias rows: column.data

    implicitHeight: column.implicitHeight + Theme.u(32)
    radius: Theme.radiusCard
    color: Theme.surface
    border.width: Theme.hairline
    border.color: Theme.highContrast ? Theme.lineStrong : Theme.line

    Column {
        id: column
        x: Theme.u(20)
        y: Theme.gapLarge
        width: root.width - 2 * x
        spacing: Theme.gapTiny
        UiText {
            text: root.title
            font: Theme.title
            bottomPadding: Theme.gapSmall
            Accessible.role: Accessible.Heading
            Accessible.name: text
        }
    }
}
