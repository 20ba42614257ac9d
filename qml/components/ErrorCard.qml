import QtQuick

import Waste.Ui

// In the transcript or on a page, never a dialog: what happened, why in numbers, what to do.
// Amber goes on by itself, red needs a person.
Rectangle {
    id: root

    required property bool warning // amber
    required property string title
    required property string text
    default property alias actions: row.data
    readonly property color ink: root.warning ? Theme.warn : Theme.danger

    implicitHeight: words.implicitHeight + Theme.u(28)
    radius: Theme.radiusCard
    color: Theme.surface
    border.width: Theme.hairline
    border.color: Theme.highContrast ? root.ink : Theme.line
    Accessible.role: Accessible.AlertMessage
    Accessible.name: title
    Accessible.description: text

    Rectangle {
        id: tile
        anchors.left: parent.left
        anchors.leftMargin: Theme.u(14)
        y: Theme.u(14)
        width: Theme.u(32)
        height: width
        radius: Theme.radius
        color: root.warning ? Theme.warnSoft : Theme.dangerSoft
        border.width: Theme.highContrast ? 1 : 0
        border.color: root.ink
        Icon {
            anchors.centerIn: parent
            name: root.warning ? "pause" : "error"
            size: Theme.u(18)
            color: root.ink
        }
    }
    Column {
        id: words
        anchors.left: tile.right
        anchors.leftMargin: Theme.u(14)
        anchors.right: parent.right
        anchors.rightMargin: Theme.u(18)
        y: Theme.u(14)
        spacing: Theme.u(5)
        UiText {
            width: parent.width
            height: Math.max(implicitHeight, Theme.u(20))
            text: root.title
            font: Theme.face(14, Font.DemiBold)
            wrapMode: Text.Wrap
        }
        UiText {
            width: parent.width
            text: root.text
            color: Theme.text2
            wrapMode: Text.Wrap
            lineHeight: 1.22
            elide: Text.ElideNone
        }
        Row {
            id: row
            spacing: Theme.gapSmall
        }
    }
}
