import QtQuick
import QtQuick.Templates as T

import Waste.Ui

T.ToolTip {
    id: root

    x: parent ? Math.round((parent.width - width) / 2) : 0
    y: -height - Theme.gapTiny
    implicitWidth: Math.min(Theme.u(320), implicitContentWidth + leftPadding + rightPadding)
    implicitHeight: implicitContentHeight + topPadding + bottomPadding
    margins: Theme.gapSmall
    leftPadding: Theme.gapSmall
    rightPadding: Theme.gapSmall
    topPadding: Theme.u(5)
    bottomPadding: Theme.u(5)
    delay: 500
    closePolicy: T.Popup.CloseOnEscape | T.Popup.CloseOnPressOutsideParent | T.Popup.CloseOnReleaseOutsideParent

    contentItem: UiText {
        text: root.text
        font: Theme.caption
        color: Theme.page
        wrapMode: Text.Wrap
        maximumLineCount: 2
    }
    background: Rectangle {
        radius: Theme.radiusSmall
        color: Theme.text
    }
}
