import QtQuick

import Waste.Ui

// Name and effect at the left, the control at the right, or below where there is no room.
Item {
    id: root

    required property string title
    required property string effect
    default property alias control: holder.data

    readonly property bool stacked: root.width < Theme.u(340) + holder.implicitWidth

    implicitHeight: Math.max(words.implicitHeight + (root.stacked ? holder.implicitHeight + Theme.gapSmall : 0),
        root.stacked ? 0 : holder.implicitHeight) + Theme.gap

    Column {
        id: words
        y: root.stacked ? Theme.u(6) : (root.height - implicitHeight) / 2
        width: root.stacked ? root.width : root.width - holder.implicitWidth - Theme.gapHuge
        spacing: Theme.u(2)
        UiText {
            width: parent.width
            text: root.title
            font: Theme.body
            wrapMode: Text.Wrap
        }
        UiText {
            width: parent.width
            text: root.effect
            font: Theme.label
            color: Theme.text2
            wrapMode: Text.Wrap
            elide: Text.ElideNone
        }
    }
    Item {
        id: holder
        implicitWidth: childrenRect.width
        implicitHeight: childrenRect.height
        width: implicitWidth
        height: implicitHeight
        x: root.stacked ? 0 : root.width - width
        y: root.stacked ? words.y + words.implicitHeight + Theme.gapSmall : (root.height - height) / 2
    }
}
