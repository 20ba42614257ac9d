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
    property bool focused: false
    property bool renaming: false

    signal chosen

    readonly property string stateIcon: root.conversationState === ConversationListModel.Answering ? "activity"
        : root.conversationState === ConversationListModel.Queued ? "queue"
        : root.conversationState === ConversationListModel.Interrupted ? "pause" : ""
    readonly property color stateInk: root.conversationState === ConversationListModel.Answering ? Theme.accentText
        : root.conversationState === ConversationListModel.Interrupted ? Theme.warn : Theme.text2

    function activate(): void {
        App.chat.open(root.conversationId);
        root.chosen();
    }

    implicitHeight: Theme.u(50)
    Accessible.role: Accessible.ListItem
    Accessible.name: qsTr("%1, %2").arg(root.title).arg(root.stateText)
    onClicked: root.activate()
    Keys.onReturnPressed: root.activate()
    Keys.onPressed: event => {
        if (event.key === Qt.Key_F2)
            root.renaming = true;
        else if (event.key === Qt.Key_Delete)
            App.chat.remove(root.conversationId);
        else
            return;
        event.accepted = true;
    }

    contentItem: Item {
        UiText {
            id: name
            anchors { left: parent.left; right: more.left; top: parent.top }
            anchors { leftMargin: Theme.u(18); topMargin: Theme.u(7) }
            visible: !root.renaming
            text: root.title
            font: root.conversationState === ConversationListModel.Unread || root.current ? Theme.face(13, Font.DemiBold)
                : Theme.face(13, Font.Normal)
        }
        UiTextField {
            anchors { left: parent.left; right: parent.right; verticalCenter: parent.verticalCenter }
            anchors { leftMargin: Theme.u(12); rightMargin: Theme.u(12) }
            visible: root.renaming
            placeholderText: qsTr("Title")
            onVisibleChanged: {
                if (visible) {
                    text = root.title;
                    forceActiveFocus(Qt.OtherFocusReason);
                    selectAll();
                }
            }
            onAccepted: {
                if (text.trim().length > 0)
                    App.chat.rename(root.conversationId, text.trim());
                root.renaming = false;
            }
            onActiveFocusChanged: if (!activeFocus) root.renaming = false
            Keys.onEscapePressed: root.renaming = false
        }
        Icon {
            id: mark
            anchors { left: name.left; verticalCenter: line.verticalCenter }
            visible: root.stateIcon.length > 0 && !root.renaming
            name: root.stateIcon
            size: Theme.u(13)
            color: root.stateInk
        }
        UiText {
            id: line
            anchors { left: mark.visible ? mark.right : name.left; right: more.left; top: name.bottom }
            anchors { leftMargin: mark.visible ? Theme.u(5) : 0; topMargin: Theme.u(3) }
            visible: !root.renaming
            text: root.stateText
            font: Theme.face(12, Font.Normal)
            color: root.stateInk
        }
        IconButton {
            id: more
            anchors { right: parent.right; rightMargin: Theme.gap; verticalCenter: parent.verticalCenter }
            width: root.hovered || root.focused || menu.visible ? implicitWidth : 0
            visible: width > 0 && !root.renaming
            name: qsTr("More about “%1”").arg(root.title)
            iconName: "more"
            onClicked: menu.popup()
        }
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
            onTriggered: App.chat.remove(root.conversationId)
        }
    }
}
