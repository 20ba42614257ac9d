import QtQuick

import Waste.Ui

// One of the dots of a Meter whose end is not known.
Rectangle {
    width: Theme.u(4)
    height: width
    radius: width / 2
    color: Theme.accent
}
