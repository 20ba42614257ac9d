import QtQuick

import Waste.App
import Waste.Ui

// A picture that will be sent: what it is, what it costs, how to make it cheaper.
Rectangle {
    id: root

    required property int index
    required property string name
    required property string source
    required property string details
    required property string price
    required property bool half

    width: Theme.u(336)
    height: Theme.u(66)
    radius: Theme.radius
    color: Theme.sunken
    border.width: Theme.hairline
    border.color: Theme.highContrast ? Theme.lineStrong : Theme.line
    Accessible.role: Accessible.Grouping
    Accessible.name: qsTr("Attached picture %1, %2 %3").arg(root.name).arg(root.details).arg(root.price)

    Thumbnail {
        id: picture
        x: Theme.u(7)
        anchors.verticalCenter: parent.verticalCenter
        width: Theme.u(52)
        height: width
        source: root.source
    }
    Column {
        anchors { left: picture.right; right: parent.right; verticalCenter: parent.verticalCenter }
        anchors { leftMargin: Theme.u(10); rightMargin: Theme.u(10) }
        UiText {
            width: parent.width - remove.width
            text: root.name
            font: Theme.labelStrong
            elide: Text.ElideMiddle
        }
        UiText {
            width: parent.width
            text: root.details
            font: Theme.label
            color: Theme.text2
        }
        Row {
            spacing: Theme.gapSmall
            UiText {
                anchors.verticalCenter: parent.verticalCenter
                visible: root.price.length > 0
                width: Math.min(implicitWidth, root.width - picture.width - sizeChoice.width - Theme.u(42))
                text: root.price
                font: Theme.labelStrong
                elide: Text.ElideRight
            }
            LinkButton {
                id: sizeChoice
                objectName: "halfPicture"
                text: root.half ? qsTr("Full size") : qsTr("Half size")
                Accessible.description: qsTr("Half the positions: read in half the time, seen less sharply")
                onClicked: App.chat.pictures.setHalf(root.index, !root.half)
            }
        }
    }
    IconButton {
        id: remove
        objectName: "removePicture"
        anchors { right: parent.right; top: parent.top; margins: Theme.u(2) }
        width: Theme.u(24)
        height: Theme.u(24)
        name: qsTr("Remove %1").arg(root.name)
        iconName: "close"
        focusPolicy: Qt.TabFocus
        onClicked: App.chat.pictures.remove(root.index)
    }
}
