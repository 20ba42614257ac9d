import QtQuick
import QtQuick.Templates as T

import Waste.Ui

// Returns to the end of the transcript.
T.AbstractButton {
    id: root

    text: qsTr("New text below")
    implicitWidth: implicitContentWidth + Theme.u(28)
    implicitHeight: Theme.u(32)
    focusPolicy: Qt.StrongFocus
    Accessible.name: root.text

    contentItem: ButtonLine {
        text: root.text
        ink: Theme.text
        iconName: "arrow-down"
        compact: true
    }
    background: FloatingSurface {
        radius: height / 2
        FocusRing {
            targetRadius: parent.height / 2
            visible: root.visualFocus
        }
    }
}
