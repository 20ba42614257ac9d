import QtQuick
import QtQuick.Templates as T

import Waste.App
import Waste.Ui

// What a person wrote: a tinted block over the whole measure, so that questions read as headings.
MessageRow {
    id: root

    required property string plainText
    required property var pictures // of sentPicture
    required property date time
    required property int siblingIndex
    required property int siblingCount
    property bool editing: false

    function send(): void {
        root.editing = false;
        if (field.text.trim().length > 0)
            App.chat.edit(root.messageId, field.text);
    }

    Accessible.name: qsTr("You, %1: %2").arg(Qt.formatTime(root.time, Theme.clock)).arg(root.plainText.slice(0, 1000)) // is spoken

    Rectangle {
        width: root.width
        height: column.implicitHeight + Theme.u(24)
        radius: Theme.radiusCard
        color: Theme.light ? Theme.sunken : Theme.surface
        border.width: Theme.highContrast ? Theme.hairline : 0
        border.color: Theme.lineStrong

        Column {
            id: column
            x: Theme.gapLarge
            y: Theme.u(12)
            width: root.width - 2 * Theme.gapLarge
            spacing: Theme.u(4)

            Item {
                width: parent.width
                height: Theme.u(22)
                UiText {
                    height: parent.height
                    text: qsTr("You")
                    font: Theme.labelStrong
                    color: Theme.text2
                }
                Row {
                    anchors.right: parent.right
                    height: parent.height
                    spacing: Theme.gapSmall
                    IconButton {
                        anchors.verticalCenter: parent.verticalCenter
                        visible: root.attended && !root.editing
                        height: Theme.u(24)
                        name: qsTr("Edit and ask again")
                        iconName: "edit"
                        onClicked: {
                            field.text = root.plainText;
                            root.editing = true;
                            field.forceActiveFocus(Qt.OtherFocusReason);
                        }
                    }
                    IconButton {
                        anchors.verticalCenter: parent.verticalCenter
                        visible: root.attended && !root.editing
                        height: Theme.u(24)
                        name: qsTr("Copy question")
                        iconName: "copy"
                        onClicked: App.copy(root.plainText)
                    }
                    SiblingNavigator {
                        height: parent.height
                        messageId: root.messageId
                        siblingIndex: root.siblingIndex
                        siblingCount: root.siblingCount
                    }
                    UiText {
                        height: parent.height
                        text: Qt.formatTime(root.time, Theme.clock)
                        font: Theme.caption
                        color: Theme.text3
                    }
                }
            }
            Flow {
                width: parent.width
                visible: root.pictures.length > 0
                spacing: Theme.gap
                Repeater {
                    model: root.pictures
                    delegate: SentPicture {}
                }
            }
            QuestionText {
                width: parent.width
                visible: !root.editing && root.plainText.length > 0
                plainText: root.plainText
            }
            T.TextArea {
                id: field
                width: parent.width
                visible: root.editing
                implicitHeight: contentHeight + topPadding + bottomPadding
                padding: Theme.gapSmall
                wrapMode: TextEdit.Wrap
                font: Theme.reading
                color: Theme.text
                selectionColor: Theme.accent
                selectedTextColor: Theme.accentInk
                textFormat: TextEdit.PlainText
                selectByMouse: true
                Accessible.name: qsTr("Edit your question")
                Keys.onEscapePressed: root.editing = false
                TextLines {
                    document: field.textDocument
                    height: Theme.readingLine
                }
                background: Rectangle {
                    radius: Theme.radius
                    color: Theme.surface
                    border.width: 2
                    border.color: Theme.accent
                }
            }
            Row {
                visible: root.editing
                spacing: Theme.gapSmall
                topPadding: Theme.gapTiny
                UiButton {
                    kind: UiButton.Primary
                    compact: true
                    text: qsTr("Ask again")
                    onClicked: root.send()
                }
                UiButton {
                    kind: UiButton.Quiet
                    compact: true
                    text: qsTr("Keep as it was")
                    onClicked: root.editing = false
                }
            }
        }
    }
}
