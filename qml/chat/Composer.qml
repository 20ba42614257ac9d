import QtQuick
import QtQuick.Templates as T

import Waste.App
import Waste.Ui

// Where a message is written. Enter sends (or Ctrl+Enter, by settings); the draft survives everything.
FocusScope {
    id: root

    readonly property int linesMax: Theme.u(480) > Window.height - Theme.u(40) ? 3 : 8
    property real firstEscape: 0 // when Esc was pressed last; a stop is expensive and asks twice

    function focusText(): void {
        field.forceActiveFocus(Qt.ShortcutFocusReason);
    }
    function linesHeight(count: int): real {
        return count * Theme.readingLine + field.topPadding + field.bottomPadding;
    }
    function send(): void {
        if (App.chat.canSend)
            App.chat.send();
    }
    function handleKey(event: KeyEvent): void {
        const enter = event.key === Qt.Key_Return || event.key === Qt.Key_Enter;
        const control = (event.modifiers & Qt.ControlModifier) !== 0;
        const shift = (event.modifiers & Qt.ShiftModifier) !== 0;
        if (enter && !shift && (control || App.settings.enterSends)) {
            root.send();
            event.accepted = true;
        } else if (event.matches(StandardKey.Paste) && App.chat.pictures.addFromClipboard()) {
            event.accepted = true;
        } else if (event.key === Qt.Key_Escape && App.chat.canStop) {
            const now = Date.now();
            if (now - root.firstEscape < 2000)
                App.chat.stop();
            root.firstEscape = now;
            event.accepted = true;
        }
    }

    implicitHeight: attached.height + scroll.height + bar.height

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
        border.width: field.activeFocus ? 2 : Theme.hairline
        border.color: field.activeFocus ? Theme.accent : Theme.lineStrong
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
    Flickable {
        id: scroll
        y: attached.height
        width: parent.width
        height: Math.min(Math.max(field.implicitHeight, root.linesHeight(1)), root.linesHeight(root.linesMax))
        contentHeight: field.height
        boundsBehavior: Flickable.StopAtBounds
        clip: true
        T.ScrollBar.vertical: UiScrollBar {}

        function keepVisible(cursor: rect): void {
            if (cursor.y < contentY)
                contentY = Math.max(0, cursor.y - field.topPadding);
            else if (cursor.y + cursor.height > contentY + height)
                contentY = cursor.y + cursor.height + field.bottomPadding - height;
        }

        TextEdit {
            id: field
            objectName: "composerText"
            width: scroll.width
            focus: true
            activeFocusOnTab: true
            leftPadding: Theme.u(16)
            rightPadding: Theme.u(16)
            topPadding: Theme.u(8) // the text stands at the bottom of its lines
            bottomPadding: Theme.u(6)
            onCursorRectangleChanged: scroll.keepVisible(cursorRectangle)
            wrapMode: TextEdit.Wrap
            textFormat: TextEdit.PlainText
            font: Theme.reading
            color: Theme.text
            selectionColor: Theme.accent
            selectedTextColor: Theme.accentInk
            selectByMouse: true
            text: App.chat.draft
            onTextChanged: App.chat.draft = text
            KeyNavigation.priority: KeyNavigation.BeforeItem
            KeyNavigation.tab: attach
            Keys.onPressed: event => root.handleKey(event)
            Accessible.role: Accessible.EditableText
            Accessible.name: qsTr("Message")
            Accessible.multiLine: true

            TextLines {
                document: field.textDocument
                height: Theme.readingLine
            }
        }
    }
    UiText {
        anchors { left: parent.left; right: parent.right; top: scroll.top }
        anchors { leftMargin: field.leftPadding; rightMargin: field.rightPadding; topMargin: Theme.u(13) }
        visible: field.length === 0 && field.preeditText.length === 0
        text: App.chat.readOnlyReason.length > 0 ? App.chat.readOnlyReason : qsTr("Write a message")
        font: Theme.reading
        color: Theme.text3
        Accessible.ignored: true
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
            id: thinking
            anchors { left: attach.right; leftMargin: Theme.u(4); verticalCenter: parent.verticalCenter }
        }
        UiText {
            anchors { left: thinking.right; right: sendButton.left; leftMargin: Theme.gap; rightMargin: Theme.gap }
            height: parent.height
            visible: text.length > 0
            text: App.chat.saveError.length > 0 ? App.chat.saveError : App.chat.pictures.error
            maximumLineCount: 2
            wrapMode: Text.Wrap
            font: Theme.label
            color: Theme.danger
            Accessible.role: Accessible.AlertMessage
            Accessible.name: text
        }
        UiButton {
            id: sendButton
            objectName: "sendButton"
            anchors { right: parent.right; rightMargin: Theme.u(8); verticalCenter: parent.verticalCenter }
            kind: UiButton.Primary
            iconName: App.chat.canStop ? "queue" : "send"
            text: App.chat.canStop ? qsTr("Queue") : qsTr("Send")
            enabled: App.chat.canSend
            reason: App.chat.sendDisabledReason
            onClicked: {
                root.send();
                root.focusText();
            }
        }
    }
}
