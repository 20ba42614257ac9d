import QtQuick
import QtQuick.Templates as T

import Waste.Ui

// A small choice inside a line of text.
T.AbstractButton {
    id: root

    implicitWidth: implicitContentWidth
    implicitHeight: Theme.u(24)
    focusPolicy: Qt.TabFocus // a click leaves the caret where it is
    hoverEnabled: true
    Accessible.name: root.text

    contentItem: UiText {
        text: root.text
        font: Theme.label
        color: root.hovered || root.down ? Theme.accentHover : Theme.accentText
    }
    background: Item {
        FocusRing {
            visible: root.visualFocus
        }
    }
}
