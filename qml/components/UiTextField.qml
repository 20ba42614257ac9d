import QtQuick
import QtQuick.Templates as T

import Waste.Ui

// One line to type in, with an optional icon in front.
T.TextField {
    id: root

    property string iconName: ""
    property string keyHint: ""
    property bool quiet: false // in a side bar: framed strongly only while it is used

    implicitHeight: Theme.control
    leftPadding: root.iconName.length > 0 ? Theme.u(31) : Theme.u(10)
    rightPadding: Theme.u(10) + (hint.visible ? hint.width + Theme.gapSmall : 0)
    verticalAlignment: TextInput.AlignVCenter
    font: Theme.body
    color: Theme.text
    placeholderTextColor: Theme.text3
    selectionColor: Theme.accent
    selectedTextColor: Theme.accentInk
    selectByMouse: true
    Accessible.name: root.placeholderText

    Icon {
        anchors.left: parent.left
        anchors.leftMargin: Theme.u(9)
        anchors.verticalCenter: parent.verticalCenter
        visible: root.iconName.length > 0
        name: root.iconName
        size: Theme.iconSmall
        color: Theme.text3
    }
    UiText {
        anchors.left: parent.left
        anchors.leftMargin: root.leftPadding
        anchors.right: parent.right
        anchors.rightMargin: root.rightPadding
        height: parent.height
        visible: root.length === 0 && root.preeditText.length === 0
        text: root.placeholderText
        color: root.placeholderTextColor
        Accessible.ignored: true
    }
    UiText {
        id: hint
        anchors.right: parent.right
        anchors.rightMargin: Theme.u(10)
        height: parent.height
        visible: root.keyHint.length > 0 && root.length === 0
        text: root.keyHint
        font: Theme.caption
        color: Theme.text3
        Accessible.ignored: true
    }

    background: Rectangle {
        radius: Theme.radius
        color: Theme.surface
        border.width: root.activeFocus ? 2 : Theme.hairline
        border.color: root.activeFocus ? Theme.accent : root.quiet && !root.hovered && !Theme.highContrast ? Theme.line : Theme.lineStrong
    }
}
