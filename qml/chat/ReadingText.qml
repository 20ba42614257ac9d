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
    property real lineHeight: Theme.readingLine

    readonly property string style: "<style>a { color: %1 } code { font-family: '%2'; font-size: %3px } ul, ol { margin: 0px }</style>"
        .arg(Theme.accentText).arg(Theme.familyMono).arg(Theme.u(13.5))

    text: root.plain ? root.content : root.style + root.content
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

    TextLines {
        document: root.textDocument
        height: root.lineHeight
        indent: Theme.gapHuge
    }
    HoverHandler {
        cursorShape: root.hoveredLink.length > 0 ? Qt.PointingHandCursor : Qt.IBeamCursor
    }
    UiToolTip {
        text: root.hoveredLink
        visible: root.hoveredLink.length > 0
    }
}
