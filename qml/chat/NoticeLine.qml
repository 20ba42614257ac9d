import QtQuick

import Waste.Ui

// A line of the program in the transcript.
MessageRow {
    id: root

    required property string plainText

    Accessible.name: root.plainText

    UiText {
        width: root.width
        text: root.plainText
        font: Theme.label
        color: Theme.text2
        wrapMode: Text.Wrap
        elide: Text.ElideNone
    }
}
