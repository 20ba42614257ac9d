import QtQuick

import Waste.Ui

// A picture of the conversation, drawn small; a frame with an icon where it cannot be drawn.
Rectangle {
    id: root

    required property string source
    property bool leftAligned: false // else in the middle of its frame

    radius: Theme.radiusSmall
    color: picture.status === Image.Ready ? "transparent" : Theme.hover
    clip: true

    Image {
        id: picture
        anchors.fill: parent
        source: root.source
        sourceSize.width: root.width * Screen.devicePixelRatio
        sourceSize.height: root.height * Screen.devicePixelRatio
        fillMode: Image.PreserveAspectFit
        horizontalAlignment: root.leftAligned ? Image.AlignLeft : Image.AlignHCenter
        asynchronous: true
        Accessible.ignored: true
    }
    Icon {
        anchors.centerIn: parent
        visible: picture.status !== Image.Ready
        name: "image"
        color: Theme.text3
    }
}
