import QtQuick

import Waste.Ui

// The words of a question as they were typed. Of a very long one only the beginning is laid out until it is
// asked for.
Column {
    id: root

    required property string plainText
    readonly property int charactersMax: 20000
    property bool whole: root.plainText.length <= root.charactersMax

    spacing: Theme.u(4)

    ReadingText {
        objectName: "questionText"
        width: root.width
        plain: true
        content: root.whole ? root.plainText : root.plainText.slice(0, root.charactersMax) + "…"
        name: qsTr("Your question")
    }
    LinkButton {
        objectName: "showAll"
        visible: !root.whole
        text: qsTr("Show all %L1 characters").arg(root.plainText.length)
        onClicked: root.whole = true
    }
}
