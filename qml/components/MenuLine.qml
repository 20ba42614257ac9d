import QtQuick

import Waste.Ui

// What stands in a line of a menu: icon, words, and a check mark at the chosen one.
Item {
    id: root

    required property string text
    required property string iconName
    required property bool checked
    required property color ink

    implicitWidth: words.implicitWidth + Theme.u(64)
    implicitHeight: words.implicitHeight

    Icon {
        x: Theme.u(6)
        anchors.verticalCenter: parent.verticalCenter
        name: root.iconName
        size: Theme.u(16)
        color: root.ink
    }
    UiText {
        id: words
        anchors.left: parent.left
        anchors.leftMargin: Theme.u(32)
        height: parent.height
        text: root.text
        color: root.ink
    }
    Icon {
        anchors.right: parent.right
        anchors.rightMargin: Theme.u(8)
        anchors.verticalCenter: parent.verticalCenter
        visible: root.checked
        name: "check"
        size: Theme.iconSmall
        color: Theme.accentText
    }
}
