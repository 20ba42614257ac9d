import QtQuick

import Waste.App
import Waste.Ui

// Prose that can be selected. `content` is our own safe subset of rich text, or plain text as it was typed.
TextEdit {
    id: root

    required property string content
    required property string name
    property bool plain: false
    property font textFont: Theme.reading

    text: root.plain ? root.content : "<style>a { color: %1 } code { font-family: '%2' }</style>%3".arg(Theme.accentText).arg(Theme.familyMono).arg(root.content)
    textFormat: root.plain ? TextEdit.PlainText : TextEdit.RichText
    font: root.textFont
    color: Theme.text
    wrapMode: TextEdit.Wrap
    readOnly: true
    selectByMouse: true
    selectByKeyboard: true
    activeFocusOnTab: false
    selectionColor: Theme.accent
    selectedTextColor: Theme.accentInk
    onLinkActivated: link => App.openLink(link)
    Accessible.role: Accessible.StaticText
    Accessible.readOnly: true
    Accessible.name: root.name

    HoverHandler {
        cursorShape: root.hoveredLink.length > 0 ? Qt.PointingHandCursor : Qt.IBeamCursor
    }
    UiToolTip {
        text: root.hoveredLink
        visible: root.hoveredLink.length > 0
    }
}
