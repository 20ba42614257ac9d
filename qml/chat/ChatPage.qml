import QtQuick
import QtQuick.Layouts
import QtQuick.Templates as T

import Waste.App
import Waste.Ui

// Conversations at the left, the open one beside them: header, transcript, status strip, composer.
FocusScope {
    id: root

    // Below 1,000 px at 100 % there is no room beside the transcript: the list becomes a drawer.
    readonly property bool narrow: root.width + Theme.rail < Theme.u(1000)

    function focusComposer(): void {
        drawer.close();
        composer.focusText();
    }
    function focusSearch(): void {
        if (root.narrow)
            drawer.open();
        (root.narrow ? drawerList : list).focusSearch();
    }
    function focusNextPane(): void {
        if (composer.activeFocus)
            (root.narrow ? transcript : list).forceActiveFocus(Qt.TabFocusReason);
        else if (list.activeFocus)
            transcript.forceActiveFocus(Qt.TabFocusReason);
        else if (transcript.activeFocus)
            strip.forceActiveFocus(Qt.TabFocusReason);
        else
            composer.focusText();
    }
    function copyLastAnswer(): void {
        transcript.copyLastAnswer();
    }

    RowLayout {
        anchors.fill: parent
        spacing: 0

        ConversationList {
            id: list
            Layout.fillHeight: true
            Layout.preferredWidth: Theme.sideList
            visible: !root.narrow
            onConversationOpened: root.focusComposer()
        }
        ColumnLayout {
            Layout.fillWidth: true
            Layout.fillHeight: true
            spacing: 0

            ChatHeader {
                Layout.fillWidth: true
                listButtonShown: root.narrow
                onListRequested: drawer.open()
            }
            Item {
                Layout.fillWidth: true
                Layout.fillHeight: true

                Transcript {
                    id: transcript
                    anchors.fill: parent
                    visible: !App.chat.empty
                }
                StartPage {
                    anchors.fill: parent
                    visible: App.chat.empty
                }
            }
            Column {
                id: foot
                Layout.fillWidth: true
                Layout.leftMargin: Math.max(Theme.gapLarge, (parent.width - Theme.measure) / 2)
                Layout.rightMargin: Layout.leftMargin
                Layout.bottomMargin: Theme.u(18)

                StatusStrip {
                    id: strip
                    width: parent.width
                }
                Composer {
                    id: composer
                    objectName: "composer"
                    width: parent.width
                    focus: true
                }
            }
        }
    }

    T.Drawer {
        id: drawer
        parent: T.Overlay.overlay // measured from the window, not from this page
        width: Math.min(Theme.sideList, root.width - Theme.u(60))
        height: root.height
        enabled: root.narrow
        T.Overlay.modal: Rectangle {
            color: Qt.rgba(0, 0, 0, 0.35)
        }
        enter: Transition {
            NumberAnimation { property: "position"; to: 1; duration: Theme.durationPanel; easing.type: Easing.OutQuad }
        }
        exit: Transition {
            NumberAnimation { property: "position"; to: 0; duration: Theme.durationPanel; easing.type: Easing.OutQuad }
        }
        background: Rectangle {
            color: Theme.base
        }
        ConversationList {
            id: drawerList
            anchors.fill: parent
            onConversationOpened: root.focusComposer()
        }
    }
}
