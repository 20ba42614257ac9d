import QtQuick
import QtQuick.Templates as T

import Waste.Ui

// One choice of a SegmentedControl.
T.AbstractButton {
    id: root

    property bool chosen: false

    implicitWidth: Math.ceil(words.implicitWidth) + Theme.u(24)
    focusPolicy: Qt.StrongFocus
    Accessible.role: Accessible.RadioButton
    Accessible.name: root.text
    Accessible.checked: root.chosen

    contentItem: UiText {
        id: words
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
