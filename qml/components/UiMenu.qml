import QtQuick
import QtQuick.Templates as T

import Waste.Ui

// A popup menu in the colours of the theme.
T.Menu {
    id: root

    implicitWidth: Math.max(Theme.u(180), contentItem.implicitWidth + leftPadding + rightPadding)
    implicitHeight: contentItem.implicitHeight + topPadding + bottomPadding
    margins: Theme.gapSmall
    padding: Theme.gapTiny
    overlap: 1

    delegate: UiMenuItem {}
    contentItem: ListView {
        implicitWidth: {
            let widest = 0;
            for (let i = 0; i < root.count; ++i)
                widest = Math.max(widest, root.itemAt(i).implicitWidth);
            return widest;
        }
        implicitHeight: contentHeight
        model: root.contentModel
        currentIndex: root.currentIndex
        interactive: false
    }
    background: FloatingSurface {}
}
