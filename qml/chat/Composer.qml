import QtQuick

import Waste.App
import Waste.Ui

// Where a message is written. Enter sends (or Ctrl+Enter, by settings); the draft survives everything.
FocusScope {
    id: root

    function focusText(): void {
        field.focusText();
    }

    implicitHeight: attached.height + field.height + (note.visible ? note.height : 0) + bar.height

    // With the card that was removed the focus would be lost.
    Connections {
        target: App.chat.pictures
        function onRowsRemoved(): void {
            root.focusText();
        }
    }
    Rectangle {
        anchors.fill: parent
        radius: Theme.radiusLarge
        color: Theme.surface
        border.width: field.writing ? 2 : Theme.hairline
        border.color: field.writing ? Theme.accent : Theme.lineStrong
    }
    Flow {
        id: attached
        width: parent.width
        height: App.chat.pictures.count > 0 ? implicitHeight : 0
        visible: App.chat.pictures.count > 0
        padding: Theme.u(10)
        bottomPadding: 0
        spacing: Theme.gapSmall
        Repeater {
            model: App.chat.pictures
            delegate: AttachmentCard {}
        }
    }
    ComposerField {
        id: field
        y: attached.height
        width: parent.width
        nextItem: attach
    }
    UiText {
        id: note
        readonly property string error: App.chat.readOnlyReason || App.chat.saveError || App.chat.pictures.error
        anchors { left: parent.left; right: parent.right; top: field.bottom }
        anchors { leftMargin: Theme.u(16); rightMargin: Theme.u(16) }
        objectName: "composerNote"
        visible: text.length > 0
        text: note.error || (App.chat.longForModel ? qsTr("This conversation is longer than the built-in model can follow; in a new one it answers better.") : "")
        wrapMode: Text.Wrap // a path may be longer than the line, and the cause stands behind it
        elide: Text.ElideNone
        font: Theme.label
        color: note.error.length > 0 ? Theme.danger : Theme.warn
        Accessible.role: Accessible.AlertMessage
        Accessible.name: text
    }
    Item {
        id: bar
        anchors.bottom: parent.bottom
        width: parent.width
        height: Theme.u(48)

        AttachButton {
            id: attach
            anchors { left: parent.left; leftMargin: Theme.u(8); verticalCenter: parent.verticalCenter }
            enabled: App.chat.readOnlyReason.length === 0
        }
        EffortButton {
            anchors { left: attach.right; leftMargin: Theme.u(4); verticalCenter: parent.verticalCenter }
        }
        UiButton {
            id: sendButton
            objectName: "sendButton"
            anchors { right: parent.right; rightMargin: Theme.u(8); verticalCenter: parent.verticalCenter }
            kind: UiButton.Primary
            iconName: "send"
            text: qsTr("Send")
            enabled: App.chat.canSend
            reason: App.chat.sendDisabledReason
            onClicked: {
                App.chat.send();
                root.focusText();
            }
        }
    }
}
