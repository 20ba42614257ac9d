import QtQuick

// The cells of a TableBlock; each finds in it, its parent, how its column is aligned.
Grid {
    property var alignments: []

    readonly property real cellWidth: columns > 0 ? width / columns : width
}
