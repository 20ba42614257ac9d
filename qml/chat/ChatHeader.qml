import QtQuick
import QtQuick.Layouts

import Waste.App
import Waste.Ui

// Title of the conversation, the model that answers, and how much of its context is used.
Item {
    id: root

    property bool listButtonShown: false
    signal listRequested

    readonly property bool contextKnown: App.chat.contextTokens > 0 // a model is open
    readonly property real usedPart: App.chat.contextTokens > 0 ? App.chat.usedTokens / App.chat.contextTokens : 0

    implicitHeight: Theme.header

    RowLayout {
        anchors.fill: parent
        anchors.leftMargin: root.listButtonShown ? Theme.gap : Theme.gapHuge
        anchors.rightMargin: Theme.gapLarge
        spacing: Theme.gapSmall

        IconButton {
            visible: root.listButtonShown
            name: qsTr("Show conversations")
            iconName: "sidebar"
            onClicked: root.listRequested()
        }
        UiText {
            Layout.fillWidth: true
            Layout.rightMargin: Theme.gap
            text: App.chat.title
            font: Theme.title
            Accessible.role: Accessible.Heading
            Accessible.name: text
        }
        Icon {
            name: "models"
            size: Theme.u(16)
            visible: App.chat.modelName.length > 0
        }
        UiText {
            text: App.chat.modelName
            font: Theme.label
            color: Theme.text2
            Layout.rightMargin: Theme.gap
        }
        UiText {
            visible: root.contextKnown && root.width >= Theme.u(640)
            text: qsTr("Context")
            font: Theme.label
            color: Theme.text2
        }
        Meter {
            Layout.preferredWidth: Theme.u(64)
            visible: root.contextKnown
            part: root.usedPart
            ink: root.usedPart >= 0.85 ? Theme.warnMark : Theme.accent
            Accessible.name: qsTr("Context, %1 of %2 tokens used").arg(App.chat.usedTokens).arg(App.chat.contextTokens)
        }
        UiText {
            text: qsTr("%1 %").arg(Math.round(root.usedPart * 100))
            visible: root.contextKnown
            font: Theme.figure
            horizontalAlignment: Text.AlignRight
            Layout.preferredWidth: Theme.u(36) // of 100 %
        }
        IconButton {
            objectName: "newChatButton"
            visible: root.listButtonShown
            name: qsTr("New chat")
            iconName: "new-chat"
            onClicked: App.chat.newChat()
        }
    }
    Rectangle {
        anchors.bottom: parent.bottom
        width: parent.width
        height: Theme.hairline
        color: Theme.highContrast ? Theme.lineStrong : Theme.line
    }
}
