import QtQuick

import Waste.App
import Waste.Ui

// One line between transcript and composer: the state in words, then what is measured, then what can be done.
Item {
    id: root

    readonly property bool failed: App.status.state === StatusModel.Failed
    readonly property bool warn: App.status.state === StatusModel.Interrupted || root.failed
    readonly property color ink: root.failed ? Theme.danger : root.warn ? Theme.warn : Theme.accentText
    readonly property string iconName: {
        switch (App.status.state) {
        case StatusModel.NoModel:
            return "models";
        case StatusModel.Opening:
            return "clock";
        case StatusModel.Ready:
            return "check-circle";
        case StatusModel.Queued:
            return "queue";
        case StatusModel.Looking:
            return "image";
        case StatusModel.Thinking:
            return "thinking";
        case StatusModel.Stopping:
        case StatusModel.Stopped:
            return "stop";
        case StatusModel.Interrupted:
            return "pause";
        case StatusModel.Failed:
            return "error";
        default:
            return "activity";
        }
    }

    objectName: "statusStrip"
    implicitHeight: Theme.u(40)
    activeFocusOnTab: true
    Accessible.role: Accessible.StatusBar
    Accessible.name: App.status.announcement

    Rectangle {
        visible: App.status.part >= 0
        width: parent.width
        height: Theme.u(2)
        radius: 1
        color: Theme.line
        Rectangle {
            width: parent.width * Math.max(0, App.status.part)
            height: parent.height
            radius: 1
            color: Theme.accent
        }
    }
    Icon {
        id: mark
        anchors.left: parent.left
        anchors.leftMargin: Theme.u(2)
        anchors.verticalCenter: parent.verticalCenter
        name: root.iconName
        size: Theme.u(17)
        color: root.ink
    }
    FigureRow {
        id: words
        anchors.left: mark.right
        anchors.leftMargin: Theme.u(9)
        height: parent.height
        spacing: Theme.u(14)
        countMax: root.width > Theme.u(520) ? 4 : root.width > Theme.u(400) ? 2 : 1
        UiText {
            height: parent.height
            text: App.status.label
            font: Theme.face(13, Font.DemiBold)
            color: root.warn ? root.ink : Theme.text
        }
        Repeater {
            model: App.status.figures.length // not the list: its items stay while their values change
            delegate: Figure {}
        }
    }
    UiText {
        id: note
        // An explanation that does not fit would lose its numbers: it is then what a pointer that rests here is shown.
        readonly property bool cut: App.status.state === StatusModel.Ready && implicitWidth > width
        opacity: note.cut ? 0 : 1
        anchors.left: words.right
        anchors.leftMargin: Theme.u(16)
        anchors.right: row.width > 0 ? row.left : parent.right
        anchors.rightMargin: row.width > 0 ? Theme.u(12) : 0
        height: parent.height
        text: App.status.note
        font: Theme.label
        color: Theme.text3
        horizontalAlignment: Text.AlignRight
    }
    Row {
        id: row
        anchors.right: parent.right
        anchors.verticalCenter: parent.verticalCenter
        spacing: Theme.gapSmall
        UiButton {
            objectName: "stopButton"
            visible: App.status.canStop
            compact: true
            iconName: "stop"
            text: qsTr("Stop")
            note: qsTr("Esc Esc")
            onClicked: App.chat.stop()
        }
        UiButton {
            objectName: "releaseVision"
            visible: App.status.visionSize.length > 0
            compact: true
            kind: UiButton.Quiet
            iconName: "image"
            text: qsTr("Free %1").arg(App.status.visionSize)
            hint: qsTr("Frees the memory of the model's picture part; the next picture loads it again.")
            onClicked: App.chat.releaseVision()
        }
        UiButton {
            visible: App.status.canRetry
            compact: true
            kind: UiButton.Quiet
            iconName: "retry"
            text: qsTr("Try again")
            onClicked: App.chat.tryAgain()
        }
        UiButton {
            visible: App.status.canContinue
            compact: true
            iconName: "play"
            text: qsTr("Continue")
            onClicked: App.chat.continueAnswer()
        }
    }
    HoverHandler {
        id: pointer
    }
    UiToolTip {
        visible: pointer.hovered && note.cut
        text: note.text
    }
    FocusRing {
        anchors.topMargin: Theme.u(3) // between its neighbours, which touch the strip
        anchors.bottomMargin: Theme.u(3)
        visible: root.activeFocus
    }
}
