import QtQuick
import QtQuick.Templates as T

import Waste.App
import Waste.Ui

// Every conversation, newest first, in groups by day.
FocusScope {
    id: root

    signal conversationOpened

    function focusSearch(): void {
        search.forceActiveFocus(Qt.ShortcutFocusReason);
        search.selectAll();
    }

    Rectangle {
        anchors.fill: parent
        color: Theme.base
    }
    UiText {
        id: heading
        x: Theme.gapLarge
        y: Theme.gap
        height: Theme.u(28)
        text: qsTr("Conversations")
        font: Theme.title
        Accessible.role: Accessible.Heading
        Accessible.name: text
    }
    IconButton {
        objectName: "newChat"
        anchors.right: parent.right
        anchors.rightMargin: Theme.gap
        anchors.verticalCenter: heading.verticalCenter
        name: qsTr("New chat")
        iconName: "new-chat"
        onClicked: {
            App.chat.newChat();
            root.conversationOpened();
        }
    }
    UiTextField {
        id: search
        objectName: "search"
        anchors { left: parent.left; right: parent.right; top: heading.bottom }
        anchors { leftMargin: Theme.gap; rightMargin: Theme.gap; topMargin: Theme.gapSmall }
        placeholderText: qsTr("Search")
        iconName: "search"
        keyHint: qsTr("Ctrl K")
        quiet: true
        focus: true
        onTextChanged: App.conversations.search = text
        Keys.onEscapePressed: clear()
        Keys.onDownPressed: view.forceActiveFocus(Qt.TabFocusReason)
    }
    ConversationView {
        id: view
        anchors { left: parent.left; right: parent.right; top: search.bottom; bottom: notes.top }
        anchors.topMargin: Theme.gapSmall
        clip: true
        model: App.conversations
        activeFocusOnTab: true
        keyNavigationEnabled: true
        boundsBehavior: Flickable.StopAtBounds
        section.property: "group"
        section.delegate: ConversationGroup {}
        delegate: ConversationRow {}
        onConversationOpened: root.conversationOpened()
        onConversationRemoved: (id, title) => {
            notes.removedId = id;
            notes.removedTitle = title;
        }
        T.ScrollBar.vertical: UiScrollBar {}
        Accessible.role: Accessible.List
        Accessible.name: qsTr("Conversations")
    }
    ConversationNotes {
        id: notes
        anchors { left: parent.left; right: parent.right; bottom: parent.bottom }
        anchors { leftMargin: Theme.gapLarge; rightMargin: Theme.gapLarge; bottomMargin: Theme.gapSmall }
    }
    Column {
        anchors.centerIn: view
        width: parent.width - 2 * Theme.gapHuge
        visible: view.count === 0
        spacing: Theme.gap
        Icon {
            anchors.horizontalCenter: parent.horizontalCenter
            name: search.length > 0 ? "search" : "chat"
            size: Theme.u(24)
            color: Theme.text3
        }
        UiText {
            width: parent.width
            text: search.length > 0 ? qsTr("No conversation has these words in its title.")
                : qsTr("Conversations appear here as soon as you send the first message.")
            color: Theme.text2
            wrapMode: Text.Wrap
            horizontalAlignment: Text.AlignHCenter
            lineHeight: 1.25
        }
    }
    Rectangle {
        anchors.right: parent.right
        width: Theme.hairline
        height: parent.height
        color: Theme.highContrast ? Theme.lineStrong : Theme.line
    }
}
