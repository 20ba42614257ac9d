import QtQuick

import Waste.Ui

// One line or paragraph of the interface. Plain text always: model and user strings pass through here.
Text {
    font: Theme.body
    color: Theme.text
    textFormat: Text.PlainText
    elide: Text.ElideRight
    verticalAlignment: Text.AlignVCenter
}
