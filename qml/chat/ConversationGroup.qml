import QtQuick

import Waste.Ui

// The day, or what stands for several, above the conversations of that time.
UiText {
    id: root

    required property string section

    leftPadding: Theme.gapLarge
    topPadding: Theme.gapSmall
    height: Theme.u(30)
    text: root.section
    font: Theme.captionStrong
    color: Theme.text3
}
