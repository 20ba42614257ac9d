import QtQuick
import QtQuick.Templates as T

import Waste.App
import Waste.Ui

// The text of the composer: grows with its lines up to a limit, then scrolls.
Flickable {
    id: root

    required property Item nextItem // where Tab leads
    readonly property bool writing: field.activeFocus
    readonly property int linesMax: Theme.u(480) > Window.height - Theme.u(40) ? 3 : 8
    property real firstEscape: 0 // when Esc was pressed last; a stop is expensive and asks twice

    function focusText(): void {
        field.forceActiveFocus(Qt.ShortcutFocusReason);
    }
    function linesHeight(count: int): real {
        return count * Theme.readingLine + field.topPadding + field.bottomPadding;
    }
    function keepVisible(cursor: rect): void {
        if (cursor.y < root.contentY)
            root.contentY = Math.max(0, cursor.y - field.topPadding);
        else if (cursor.y + cursor.height > root.contentY + root.height)
            root.contentY = cursor.y + cursor.height + field.bottomPadding - root.height;
    }
    function handleKey(event: KeyEvent): void {
        const enter = event.key === Qt.Key_Return || event.key === Qt.Key_Enter;
        const control = (event.modifiers & Qt.ControlModifier) !== 0;
        const shift = (event.modifiers & Qt.ShiftModifier) !== 0;
        if (enter && !shift && (control || App.settings.enterSends)) {
            App.chat.send();
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

    height: Math.min(Math.max(field.implicitHeight, root.linesHeight(1)), root.linesHeight(root.linesMax))
    contentHeight: field.height
    boundsBehavior: Flickable.StopAtBounds
    clip: true
    T.ScrollBar.vertical: UiScrollBar {}

    TextEdit {
        id: field
        objectName: "composerText"
        width: root.width
        focus: true
        activeFocusOnTab: true
        leftPadding: Theme.u(16)
        rightPadding: Theme.u(16)
        topPadding: Theme.u(8) // the text stands at the bottom of its lines
        bottomPadding: Theme.u(6)
        onCursorRectangleChanged: root.keepVisible(cursorRectangle)
        wrapMode: TextEdit.Wrap
        textFormat: TextEdit.PlainText
        font: Theme.reading
        color: Theme.text
        selectionColor: Theme.accent
        selectedTextColor: Theme.accentInk
        selectByMouse: true
        readOnly: App.chat.readOnlyReason.length > 0 // it could not be kept
        text: App.chat.draft
        onTextChanged: App.chat.draft = text
        KeyNavigation.priority: KeyNavigation.BeforeItem
        KeyNavigation.tab: root.nextItem
        Keys.onPressed: event => root.handleKey(event)
        Accessible.role: Accessible.EditableText
        Accessible.name: qsTr("Message")
        Accessible.multiLine: true
        Accessible.readOnly: field.readOnly

        TextLines {
            document: field.textDocument
            height: Theme.readingLine
        }
    }
    UiText {
        anchors { left: field.left; right: field.right; top: field.top }
        anchors { leftMargin: field.leftPadding; rightMargin: field.rightPadding; topMargin: Theme.u(13) }
        visible: !field.readOnly && field.length === 0 && field.preeditText.length === 0
        text: qsTr("Write a message")
        font: Theme.reading
        color: Theme.text3
        Accessible.ignored: true
    }
}
