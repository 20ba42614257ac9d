import QtQuick
import QtQuick.Templates as T

import Waste.App
import Waste.Ui

// A question to begin with; a click asks it.
T.AbstractButton {
    id: root

    required property string modelData
    readonly property Grid grid: root.parent as Grid

    text: root.modelData
    width: root.grid !== null ? (root.grid.width - (root.grid.columns - 1) * root.grid.spacing) / root.grid.columns : implicitWidth
    implicitHeight: Math.max(Theme.u(72), implicitContentHeight + topPadding + bottomPadding)
    padding: Theme.u(14)
    enabled: App.chat.modelReady
    onClicked: App.chat.ask(root.modelData)
    focusPolicy: Qt.StrongFocus
    hoverEnabled: true
    Accessible.name: qsTr("Ask: %1").arg(root.text)

    contentItem: UiText {
        text: root.text
        font: Theme.face(14, Font.Normal)
        color: root.enabled ? Theme.text : Theme.text3
        wrapMode: Text.Wrap
        lineHeight: 1.25
        verticalAlignment: Text.AlignVCenter
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
