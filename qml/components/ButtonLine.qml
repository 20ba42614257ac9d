import QtQuick

import Waste.Ui

// What stands on a button: icon, label, a quieter note, and a mark behind; centred.
Item {
    id: root

    required property string text
    required property color ink
    property string note: ""
    property string iconName: ""
    property string iconAfter: ""
    property bool compact: false

    implicitWidth: line.implicitWidth
    implicitHeight: line.implicitHeight

    Row {
        id: line
        anchors.centerIn: parent
        spacing: Theme.u(7)
        Icon {
            anchors.verticalCenter: parent.verticalCenter
            visible: root.iconName.length > 0
            name: root.iconName
            size: root.compact ? Theme.iconSmall : Theme.u(16)
            color: root.ink
        }
        UiText {
            anchors.verticalCenter: parent.verticalCenter
            visible: root.text.length > 0
            text: root.text
            color: root.ink
            font: root.compact ? Theme.face(12.5, Font.Medium) : Theme.face(13.5, Font.Medium)
        }
        UiText {
            anchors.verticalCenter: parent.verticalCenter
            visible: root.note.length > 0
            text: root.note
            color: root.ink
            font: Theme.caption
        }
        Icon {
            anchors.verticalCenter: parent.verticalCenter
            visible: root.iconAfter.length > 0
            name: root.iconAfter
            size: Theme.iconSmall
            color: root.ink
        }
    }
}
