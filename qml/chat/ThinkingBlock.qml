import QtQuick

import Waste.App
import Waste.Ui

// Reasoning, folded: a counter and the line that is being written. Opens in place and remembers the choice.
Rectangle {
    id: root

    required property string plainText
    required property string tail // the last words
    required property int tokenCount
    required property int seconds
    required property bool closed // false while the model is still thinking

    readonly property bool live: !root.closed
    readonly property bool open: App.settings.thinkingOpen
    readonly property string title: root.live ? qsTr("Thinking") : qsTr("Thought")
    readonly property string duration: qsTr("%1:%2").arg(Math.floor(root.seconds / 60)).arg(String(root.seconds % 60).padStart(2, "0"))
    readonly property string tokens: root.tokenCount === 1 ? qsTr("1 token") : qsTr("%1 tokens").arg(root.tokenCount)
    readonly property string counter: root.seconds > 0 ? qsTr("%1, %2").arg(root.tokens).arg(root.duration) : root.tokens

    function toggle(): void {
        App.settings.thinkingOpen = !root.open;
    }

    width: parent ? parent.width : 0
    implicitHeight: root.open ? head.height + body.implicitHeight + Theme.gap : head.height
    radius: Theme.radius
    color: "transparent"
    border.width: Theme.hairline
    border.color: Theme.highContrast ? Theme.lineStrong : Theme.line
    activeFocusOnTab: true
    Accessible.role: Accessible.Button
    Accessible.name: qsTr("%1, %2").arg(root.title).arg(root.counter)
    Accessible.description: root.open ? qsTr("Folds the reasoning") : qsTr("Shows the reasoning")
    Keys.onReturnPressed: root.toggle()
    Keys.onSpacePressed: root.toggle()

    Item {
        id: head
        anchors.left: parent.left
        anchors.right: parent.right
        height: Theme.u(38)
        TapHandler {
            onTapped: root.toggle()
        }
        Icon {
            id: mark
            anchors.left: parent.left
            anchors.leftMargin: Theme.gap
            anchors.verticalCenter: parent.verticalCenter
            name: "thinking"
            size: Theme.u(16)
            color: root.live ? Theme.accentText : Theme.text3
        }
        UiText {
            id: name
            anchors.left: mark.right
            anchors.leftMargin: Theme.u(10)
            height: parent.height
            text: root.title
            font: Theme.labelStrong
            color: Theme.text2
        }
        UiText {
            id: count
            anchors.left: name.right
            anchors.leftMargin: Theme.u(8)
            height: parent.height
            text: root.counter
            font: Theme.figure
            color: Theme.text2
        }
        Rectangle {
            id: divider
            anchors.left: count.right
            anchors.leftMargin: Theme.u(10)
            anchors.verticalCenter: parent.verticalCenter
            visible: !root.open && root.tail.length > 0
            width: 1
            height: Theme.u(14)
            color: Theme.line
        }
        UiText {
            anchors.left: divider.right
            anchors.leftMargin: Theme.u(9)
            anchors.right: arrow.left
            anchors.rightMargin: Theme.u(10)
            height: parent.height
            visible: divider.visible
            text: root.tail
            font: Theme.labelItalic
            color: Theme.text2
            elide: root.live ? Text.ElideLeft : Text.ElideRight
        }
        Icon {
            id: arrow
            anchors.right: parent.right
            anchors.rightMargin: Theme.gap
            anchors.verticalCenter: parent.verticalCenter
            name: root.open ? "chevron-down" : "chevron-right"
            size: Theme.iconSmall
        }
    }
    UiText {
        id: body
        anchors.left: parent.left
        anchors.leftMargin: Theme.u(38)
        anchors.right: parent.right
        anchors.rightMargin: Theme.u(18)
        y: head.height
        visible: root.open
        text: root.plainText
        color: Theme.text2
        wrapMode: Text.Wrap
        lineHeight: 1.3
        elide: Text.ElideNone
    }
    FocusRing {
        visible: root.activeFocus
    }
}
