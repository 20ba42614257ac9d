import QtQuick
import QtQuick.Templates as T

import Waste.App
import Waste.Ui

// The branch of the conversation that is on screen. Follows the end while the reader is there, and never
// moves otherwise: any scroll upwards lets go, the pill at the bottom returns.
FocusScope {
    id: root

    property bool following: true

    function copyLastAnswer(): void {
        const text = App.chat.textOf("");
        if (text.length > 0)
            App.copy(text);
    }
    function toEnd(): void {
        root.following = true;
        view.positionViewAtEnd();
    }
    function keepFollowing(): void {
        if (root.following && !view.moving)
            view.positionViewAtEnd();
    }
    function distanceToEnd(): real {
        return view.contentHeight + view.originY - view.contentY - view.height;
    }

    ListView {
        id: view
        objectName: "transcript"
        anchors.fill: parent
        clip: true
        focus: true
        activeFocusOnTab: true
        model: App.chat.messages
        cacheBuffer: Math.max(0, height * 3)
        boundsBehavior: Flickable.StopAtBounds
        // A message that is being read keeps its place when the keyboard moves the current one.
        highlightFollowsCurrentItem: true
        highlightMoveDuration: 0
        header: Item {
            implicitHeight: Theme.u(20)
        }
        footer: Item {
            implicitHeight: Theme.u(20)
        }
        delegate: MessageDelegates {}
        T.ScrollBar.vertical: UiScrollBar {
            onPressedChanged: root.following = !pressed && root.distanceToEnd() < Theme.readingLine
        }
        onCountChanged: {
            root.following = true;
            settle.start();
        }
        onContentHeightChanged: settle.start()
        onHeightChanged: settle.start()
        onMovementStarted: root.following = false
        onMovementEnded: root.following = root.distanceToEnd() < Theme.readingLine
        Keys.onPressed: event => {
            if (event.key === Qt.Key_PageDown || event.key === Qt.Key_PageUp) {
                const step = (event.key === Qt.Key_PageDown ? 1 : -1) * (height - Theme.readingLine);
                contentY = Math.max(originY, Math.min(contentHeight + originY - height, contentY + step));
                root.following = root.distanceToEnd() < Theme.readingLine;
                event.accepted = true;
            }
        }
        Keys.onDownPressed: incrementCurrentIndex()
        Keys.onUpPressed: {
            root.following = false;
            decrementCurrentIndex();
        }
        Accessible.role: Accessible.List
        Accessible.name: qsTr("Messages")
    }

    // Once for all changes of one turn of the event loop, when the rows have their heights.
    Timer {
        id: settle
        interval: 0
        onTriggered: root.keepFollowing()
    }
    JumpPill {
        objectName: "jumpPill"
        anchors { horizontalCenter: parent.horizontalCenter; bottom: parent.bottom; bottomMargin: Theme.gap }
        visible: !root.following && root.distanceToEnd() > 2 * Theme.readingLine
        onClicked: root.toEnd()
    }
}
