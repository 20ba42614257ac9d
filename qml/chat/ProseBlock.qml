import QtQuick

import Waste.Ui

// Paragraphs and lists.
ReadingText {
    id: root

    required property string html

    width: parent ? parent.width : 0
    content: root.html
    name: qsTr("Text")
}
