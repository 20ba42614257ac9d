import QtQuick

import Waste.Ui

Item {
    id: root

    required property string content

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
        content: root.content
        name: qsTr("Quotation")
        color: Theme.text2
    }
}
