import QtQuick

import Waste.Ui

// What all messages have in common: a column in the middle of the transcript, a ring around the current one.
FocusScope {
    id: root

    required property string messageId
    default property alias content: holder.data
    property real gapBelow: Theme.gapLarge // part of the row, so that tools may lie in it

    readonly property ListView view: ListView.view as ListView
    readonly property bool focused: ListView.isCurrentItem && root.view !== null && root.view.activeFocus
    readonly property bool attended: hover.hovered || root.activeFocus || root.focused // show what can be done

    x: root.view !== null ? (root.view.width - width) / 2 : 0
    width: root.view !== null ? Math.min(Theme.measure, root.view.width - 2 * Theme.gapLarge) : 0
    implicitHeight: holder.childrenRect.height + root.gapBelow
    Accessible.role: Accessible.ListItem

    HoverHandler {
        id: hover
    }
    Item {
        id: holder
        anchors.fill: parent
    }
    Item {
        anchors.fill: parent
        anchors.bottomMargin: root.gapBelow
        FocusRing {
            targetRadius: Theme.radiusCard
            visible: root.focused
        }
    }
}
