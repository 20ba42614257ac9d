import QtQuick
import QtQuick.Templates as T

import Waste.Ui

// One choice of a SegmentedControl.
T.AbstractButton {
    id: root

    required property int index
    required property string modelData

    readonly property SegmentedRow row: root.parent as SegmentedRow
    readonly property bool chosen: root.row !== null && root.index === root.row.current

    function choose(index: int): void {
        if (root.row !== null && index >= 0 && index < root.row.count)
            root.row.chosen(index);
    }

    text: root.modelData
    height: root.row !== null ? root.row.height : implicitHeight
    implicitWidth: Math.ceil(implicitContentWidth) + Theme.u(24)
    focusPolicy: Qt.StrongFocus
    onClicked: root.choose(root.index)
    Keys.onLeftPressed: root.choose(root.row.current - 1)
    Keys.onRightPressed: root.choose(root.row.current + 1)
    Accessible.role: Accessible.RadioButton
    Accessible.name: root.text
    Accessible.checked: root.chosen

    contentItem: UiText {
        text: root.text
        font: Theme.face(12.5, root.chosen ? Font.DemiBold : Font.Normal)
        color: root.chosen ? Theme.accentText : Theme.text2
        horizontalAlignment: Text.AlignHCenter
    }
    background: Rectangle {
        radius: Theme.radius - 2
        color: root.chosen ? Theme.surface : root.hovered ? Theme.hover : "transparent"
        border.width: root.chosen ? Theme.hairline : 0
        border.color: Theme.highContrast ? Theme.lineStrong : Theme.line
        FocusRing {
            targetRadius: parent.radius
            visible: root.visualFocus
        }
    }
}
