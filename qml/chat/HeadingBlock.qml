import QtQuick

import Waste.Ui

// A heading inside an answer; the page's own headings are larger.
ReadingText {
    id: root

    required property string html
    required property int level

    width: parent ? parent.width : 0
    content: root.html
    name: qsTr("Heading")
    lineHeight: root.level <= 2 ? Theme.headingLine : Theme.readingLine
    textFont: root.level <= 2 ? Theme.heading : Theme.title
}
