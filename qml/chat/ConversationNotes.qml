import QtQuick

import Waste.App
import Waste.Ui

// Below the conversations: the way back from the last deletion, and which of them could not be read.
Column {
    id: root

    property string removedId: "" // empty: nothing to take back
    property string removedTitle: ""

    spacing: Theme.gapTiny

    Item {
        width: parent.width
        height: Theme.u(24)
        visible: root.removedId.length > 0
        UiText {
            anchors { left: parent.left; right: undo.left; rightMargin: Theme.gapSmall }
            height: parent.height
            text: qsTr("Deleted: %1").arg(root.removedTitle)
            font: Theme.label
            color: Theme.text2
        }
        LinkButton {
            id: undo
            objectName: "undoRemoval"
            anchors.right: parent.right
            text: qsTr("Undo")
            onClicked: {
                App.chat.restore(root.removedId);
                root.removedId = "";
            }
        }
    }
    Repeater {
        model: App.conversations.quarantineNotes
        delegate: UiText {
            required property string modelData
            width: parent ? parent.width : 0
            text: modelData
            font: Theme.label
            color: Theme.warn
            wrapMode: Text.Wrap
            maximumLineCount: 6
        }
    }
}
