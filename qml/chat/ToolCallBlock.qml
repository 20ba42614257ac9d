import QtQuick

import Waste.Ui

// A call that the model wants made: the tool's name, its arguments as they were written.
CodeBlock {
    title: qsTr("Tool call: %1").arg(language)
}
