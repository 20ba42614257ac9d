import QtQuick

import Waste.Ui

// What is quoted: quieter, behind a bar.
Item {
    id: root

    required property string html

    width: parent ? parent.width : 0
    implicitHeight: words.implicitHeight

    Rectangle {
        width: Theme.u(3)
        height: parent.height
        radius: Theme.radiusCell
        color: Theme.lineStrong
    }
    ReadingText {
        id: words
        x: Theme.gapLarge
        width: root.width - x
        content: root.html
        name: qsTr("Quotation")
        color: Theme.text2
    }
}
