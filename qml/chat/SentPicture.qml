import QtQuick

import Waste.App
import Waste.Ui

// A picture in a question that was sent.
Column {
    id: root

    required property sentPicture modelData

    spacing: Theme.u(2)
    Accessible.role: Accessible.Graphic
    Accessible.name: qsTr("Picture %1, %2").arg(root.modelData.name).arg(root.modelData.details)

    Thumbnail {
        width: Theme.u(190)
        height: Theme.u(137)
        leftAligned: true
        source: root.modelData.source
    }
    UiText {
        width: Theme.u(190)
        text: root.modelData.name
        font: Theme.labelStrong
        elide: Text.ElideMiddle
    }
    UiText {
        width: Theme.u(190)
        text: root.modelData.details
        font: Theme.label
        color: Theme.text2
    }
}
