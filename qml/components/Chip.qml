import QtQuick

import Waste.Ui

// A fact in a few letters; never a button. Good, warning and bad carry an icon, so that colour is not the only sign.
Rectangle {
    id: root

    enum Tone { Neutral, Good, Warning, Bad }

    property int tone: Chip.Neutral
    property string text: ""
    property string iconName: ""
    property color neutralFill: Theme.sunken
    readonly property color ink: [Theme.text2, Theme.accentText, Theme.warn, Theme.danger][tone]

    implicitWidth: line.implicitWidth + Theme.u(14)
    implicitHeight: Theme.u(21)
    radius: Theme.radiusChip
    color: [neutralFill, Theme.accentSoft, Theme.warnSoft, Theme.dangerSoft][tone]
    border.width: Theme.highContrast ? 1 : 0
    border.color: ink
    Accessible.role: Accessible.StaticText
    Accessible.name: text

    Row {
        id: line
        anchors.centerIn: parent
        spacing: Theme.u(4)
        Icon {
            anchors.verticalCenter: parent.verticalCenter
            visible: root.iconName.length > 0
            name: root.iconName
            size: Theme.u(13)
            color: root.ink
        }
        UiText {
            anchors.verticalCenter: parent.verticalCenter
            text: root.text
            color: root.ink
            font: Theme.face(11.5, Font.Medium)
        }
    }
}
