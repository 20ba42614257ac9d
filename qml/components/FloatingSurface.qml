import QtQuick

import Waste.Ui

// Ground of popups and toasts: a hairline, and a shadow made of nested rectangles (none in high contrast).
Rectangle {
    id: root

    radius: Theme.radiusCard
    color: Theme.surface
    border.width: Theme.hairline
    border.color: Theme.highContrast ? Theme.lineStrong : Theme.line

    Repeater {
        model: Theme.highContrast ? 0 : 6
        delegate: FloatingShadow {}
    }
}
