import QtQuick

import Waste.Ui

Item {
    width: parent ? parent.width : 0
    implicitHeight: Theme.gap

    Rectangle {
        anchors.verticalCenter: parent.verticalCenter
        width: parent.width
        height: Theme.hairline
        color: Theme.highContrast ? Theme.lineStrong : Theme.line
    }
}
