import QtQuick

import Waste.App
import Waste.Ui

// One message: a question as a tinted block, an answer as a document, a notice as a line.
FocusScope {
    id: root

    required property string messageId
    required property int author
    required property int messageState
    required property string plainText
    required property var blocks
    required property date time
    required property string modelName
    required property string statistics
    required property int siblingIndex
    required property int siblingCount
    required property string errorTitle
    required property string errorText
    required property bool last
    property bool focused: false

    readonly property bool fromUser: root.author === MessageListModel.User
    readonly property bool fromModel: root.author === MessageListModel.Assistant

    implicitHeight: body.implicitHeight
    Accessible.role: Accessible.ListItem
    Accessible.name: root.fromUser ? qsTr("You, %1: %2").arg(Qt.formatTime(root.time, Theme.clock)).arg(root.plainText)
        : root.fromModel ? qsTr("%1, %2").arg(root.modelName).arg(root.statistics) : root.plainText

    HoverHandler {
        id: hover
    }
    Loader {
        id: body
        width: root.width
        sourceComponent: root.fromUser ? question : root.fromModel ? answer : notice
    }
    FocusRing {
        targetRadius: Theme.radiusCard
        visible: root.focused
    }

    Component {
        id: question
        UserMessage {
            messageId: root.messageId
            text: root.plainText
            time: root.time
            siblingIndex: root.siblingIndex
            siblingCount: root.siblingCount
            toolsShown: hover.hovered || root.activeFocus || root.focused
        }
    }
    Component {
        id: answer
        AssistantMessage {
            messageId: root.messageId
            messageState: root.messageState
            blocks: root.blocks
            modelName: root.modelName
            statistics: root.statistics
            siblingIndex: root.siblingIndex
            siblingCount: root.siblingCount
            errorTitle: root.errorTitle
            errorText: root.errorText
            last: root.last
            toolsShown: root.last || hover.hovered || root.activeFocus || root.focused
        }
    }
    Component {
        id: notice
        UiText {
            text: root.plainText
            font: Theme.label
            color: Theme.text2
            wrapMode: Text.Wrap
            elide: Text.ElideNone
        }
    }
}
