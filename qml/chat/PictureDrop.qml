import QtQuick

import Waste.App
import Waste.Ui

// Takes pictures that are dropped anywhere on the window, for the conversation on screen.
DropArea {
    id: root

    onEntered: drag => drag.accepted = drag.hasUrls && App.chat.readOnlyReason.length === 0
    onDropped: drop => {
        App.chat.pictures.addFiles(drop.urls);
        drop.acceptProposedAction();
    }

    Rectangle {
        anchors.fill: parent
        anchors.margins: Theme.gapSmall
        visible: root.containsDrag
        radius: Theme.radiusLarge
        color: Theme.accentSoft
        border.width: 2
        border.color: Theme.accent

        UiText {
            anchors.centerIn: parent
            text: qsTr("Drop pictures to attach them")
            font: Theme.heading
            color: Theme.accentText
        }
    }
}
