import QtQuick
import QtQuick.Templates as T

import Waste.App
import Waste.Ui

// One conversation: title above its state in words. F2 or the menu renames it in place.
T.ItemDelegate {
    id: root

    required property string conversationId
    required property string title
    required property int conversationState
    required property string stateText
    required property bool current
    property bool renaming: false

    readonly property ConversationView view: ListView.view as ConversationView
    readonly property bool focused: ListView.isCurrentItem && root.view !== null && root.view.activeFocus

    readonly property string stateIcon: root.conversationState === ConversationListModel.Answering ? "activity"
        : root.conversationState === ConversationListModel.Queued ? "queue"
        : root.conversationState === ConversationListModel.Interrupted ? "pause" : ""
    readonly property color stateInk: root.conversationState === ConversationListModel.Answering ? Theme.accentText
        : root.conversationState === ConversationListModel.Interrupted ? Theme.warn : Theme.text2

    function activate(): void {
        App.chat.open(root.conversationId);
        root.view.conversationOpened();
    }
    function remove(): void {
        root.view.conversationRemoved(root.conversationId, root.title); // before this row is gone
        App.chat.remove(root.conversationId);
    }
    function rename(title: string): void {
        root.renaming = false;
        if (title.trim().length > 0 && title !== root.title)
            App.chat.rename(root.conversationId, title.trim());
    }

    width: root.view !== null ? root.view.width : 0
    implicitHeight: Theme.u(50)
    Accessible.role: Accessible.ListItem
    Accessible.name: qsTr("%1, %2").arg(root.title).arg(root.stateText)
    onClicked: root.activate()
    Keys.onReturnPressed: root.activate()
    Keys.onPressed: event => {
        if (event.key === Qt.Key_F2)
            root.renaming = true;
        else if (event.key === Qt.Key_Delete)
            root.remove();
        else
            return;
        event.accepted = true;
    }

    contentItem: ConversationTitle {
        title: root.title
        stateText: root.stateText
        iconName: root.stateIcon
        ink: root.stateInk
        strong: root.current || root.conversationState === ConversationListModel.Unread
        menuShown: root.hovered || root.focused || menu.visible
        renaming: root.renaming
        onRenamed: title => root.rename(title)
        onMenuRequested: menu.popup()
    }
    background: Rectangle {
        anchors.fill: parent
        anchors.leftMargin: Theme.gapSmall
        anchors.rightMargin: Theme.gapSmall
        radius: Theme.radius
        color: root.current ? Theme.accentSoft : root.hovered ? Theme.hover : "transparent"
        FocusRing {
            visible: root.focused
        }
    }

    UiMenu {
        id: menu
        UiMenuItem {
            text: qsTr("Rename")
            iconName: "edit"
            onTriggered: root.renaming = true
        }
        UiMenuItem {
            text: qsTr("Delete")
            iconName: "trash"
            onTriggered: root.remove()
        }
    }
}
