import QtQuick

import Waste.Ui

// What stands in a ConversationRow: the title above the state in words, the button of the menu at the right.
Item {
    id: root

    required property string title
    required property string stateText
    required property string iconName // of the state, maybe none
    required property color ink // of the state
    required property bool strong
    required property bool menuShown
    required property bool renaming

    signal renamed(title: string) // the same title: leave it
    signal menuRequested

    UiText {
        id: name
        anchors { left: parent.left; right: more.left; top: parent.top }
        anchors { leftMargin: Theme.u(18); topMargin: Theme.u(7) }
        visible: !root.renaming
        text: root.title
        font: Theme.face(13, root.strong ? Font.DemiBold : Font.Normal)
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
        onAccepted: root.renamed(text)
        onActiveFocusChanged: {
            if (!activeFocus && root.renaming)
                root.renamed(root.title);
        }
        Keys.onEscapePressed: root.renamed(root.title)
    }
    Icon {
        id: mark
        anchors { left: name.left; verticalCenter: line.verticalCenter }
        visible: root.iconName.length > 0 && !root.renaming
        name: root.iconName
        size: Theme.u(13)
        color: root.ink
    }
    UiText {
        id: line
        anchors { left: mark.visible ? mark.right : name.left; right: more.left; top: name.bottom }
        anchors { leftMargin: mark.visible ? Theme.u(5) : 0; topMargin: Theme.u(3) }
        visible: !root.renaming
        text: root.stateText
        font: Theme.face(12, Font.Normal)
        color: root.ink
    }
    IconButton {
        id: more
        anchors { right: parent.right; rightMargin: Theme.gap; verticalCenter: parent.verticalCenter }
        width: root.menuShown ? implicitWidth : 0
        visible: width > 0 && !root.renaming
        name: qsTr("More about “%1”").arg(root.title)
        iconName: "more"
        onClicked: root.menuRequested()
    }
}
