import QtQuick

import Waste.App
import Waste.Ui

// An answer: a document of blocks under the model's name, its statistics below.
MessageRow {
    id: root

    required property int messageState
    required property var blocks
    required property string modelName
    required property string statistics
    required property int siblingIndex
    required property int siblingCount
    required property string errorTitle
    required property string errorText
    required property bool last

    readonly property bool running: root.messageState === MessageListModel.Queued || root.messageState === MessageListModel.Reading || root.messageState === MessageListModel.Answering
    readonly property bool toolsShown: root.last || root.attended

    gapBelow: root.running ? Theme.gapLarge : 0 // the line of tools is gap enough
    Accessible.name: qsTr("%1, %2").arg(root.modelName).arg(root.statistics)

    Column {
        width: root.width
        spacing: Theme.u(11)

        Item {
            width: parent.width
            height: Theme.u(22)
            Rectangle {
                id: mark
                anchors.verticalCenter: parent.verticalCenter
                width: Theme.u(8)
                height: width
                radius: Theme.radiusCell
                color: Theme.accent
            }
            UiText {
                anchors.left: mark.right
                anchors.leftMargin: Theme.u(7)
                height: parent.height
                text: root.modelName
                font: Theme.labelStrong
                color: Theme.accentText
            }
            SiblingNavigator {
                anchors.right: parent.right
                height: parent.height
                messageId: root.messageId
                siblingIndex: root.siblingIndex
                siblingCount: root.siblingCount
            }
        }
        Repeater {
            model: root.blocks
            delegate: AnswerBlocks {}
        }
        ErrorCard {
            width: parent.width
            visible: root.errorTitle.length > 0
            warning: root.messageState === MessageListModel.Interrupted
            title: root.errorTitle
            text: root.errorText
            UiButton {
                visible: root.last && App.chat.canContinue
                compact: true
                text: qsTr("Continue")
                iconName: "play"
                onClicked: App.chat.continueAnswer()
            }
            UiButton {
                visible: root.last && App.chat.canRetry
                compact: true
                kind: UiButton.Quiet
                text: qsTr("Try again")
                iconName: "retry"
                onClicked: App.chat.tryAgain()
            }
        }
        Item {
            width: parent.width
            height: Theme.u(28)
            visible: !root.running
            Row {
                spacing: Theme.u(2)
                opacity: root.toolsShown ? 1 : 0
                IconButton {
                    name: qsTr("Copy answer")
                    iconName: "copy"
                    onClicked: App.copy(App.chat.textOf(root.messageId))
                }
                IconButton {
                    visible: root.last
                    enabled: App.chat.canRetry
                    name: qsTr("Try again")
                    iconName: "retry"
                    onClicked: App.chat.tryAgain()
                }
            }
            UiText {
                anchors.right: parent.right
                height: parent.height
                visible: root.toolsShown
                text: root.statistics
                font: Theme.figureSmall
                color: Theme.text3
            }
        }
    }
}
