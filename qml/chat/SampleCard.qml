import QtQuick
import QtQuick.Templates as T

import Waste.Ui

// A question to begin with; a click asks it.
T.AbstractButton {
    id: root

    implicitHeight: Math.max(Theme.u(64), words.implicitHeight + Theme.u(28))
    focusPolicy: Qt.StrongFocus
    hoverEnabled: true
    Accessible.name: qsTr("Ask: %1").arg(root.text)

    contentItem: UiText {
        id: words
        leftPadding: Theme.u(14)
        rightPadding: Theme.u(14)
        topPadding: Theme.u(14)
        bottomPadding: Theme.u(14)
        text: root.text
        font: Theme.face(14, Font.Normal)
        color: root.enabled ? Theme.text : Theme.text3
        wrapMode: Text.Wrap
        lineHeight: 1.25
        verticalAlignment: Text.AlignTop
        elide: Text.ElideNone
    }
    background: Rectangle {
        radius: Theme.radiusCard
        color: root.hovered || root.down ? Theme.hover : Theme.surface
        border.width: Theme.hairline
        border.color: Theme.highContrast ? Theme.lineStrong : Theme.line
        FocusRing {
            targetRadius: parent.radius
            visible: root.visualFocus
        }
    }
}
