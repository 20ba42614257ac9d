import QtQuick
import QtQuick.Templates as T

import Waste.Ui

T.MenuItem {
    id: root

    property string iconName: ""

    implicitWidth: implicitContentWidth
    implicitHeight: Theme.control
    Accessible.name: root.text

    contentItem: MenuLine {
        text: root.text
        iconName: root.iconName
        checked: root.checked
        ink: root.enabled ? Theme.text : Theme.text3
    }
    background: Rectangle {
        radius: Theme.radiusSmall
        color: root.highlighted ? Theme.hover : "transparent"
    }
}
