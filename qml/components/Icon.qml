import QtQuick
import QtQuick.Controls.impl

import Waste.Ui

// An icon of the set in one colour. Decoration: the control that shows it has the name.
Item {
    id: root

    property string name: ""
    property color color: Theme.text2
    property real size: Theme.icon

    implicitWidth: root.size
    implicitHeight: root.size
    Accessible.ignored: true

    IconImage {
        anchors.fill: parent
        visible: root.name.length > 0
        source: root.name.length > 0 ? "qrc:/icons/" + root.name + ".svg" : ""
        sourceSize.width: Math.round(root.size)
        sourceSize.height: Math.round(root.size)
        color: root.color
    }
}
