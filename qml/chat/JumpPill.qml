import QtQuick
import QtQuick.Templates as T

import Waste.Ui

// Returns to the end of the transcript.
T.AbstractButton {
    id: root

    text: qsTr("New text below")
    implicitWidth: row.implicitWidth + Theme.u(28)
    implicitHeight: Theme.u(32)
    focusPolicy: Qt.StrongFocus
    Accessible.name: root.text

    contentItem: Item {
        Row {
            id: row
            anchors.centerIn: parent
            spacing: Theme.u(6)
            Icon {
                anchors.verticalCenter: parent.verticalCenter
                name: "arrow-down"
                size: Theme.iconSmall
            }
            UiText {
                text: root.text
                font: Theme.face(12.5, Font.Medium)
            }
        }
    }
    background: FloatingSurface {
        radius: height / 2
        FocusRing {
            targetRadius: parent.height / 2
            visible: root.visualFocus
        }
    }
}
