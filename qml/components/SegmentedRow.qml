import QtQuick

// The choices of a SegmentedControl; each finds in it, its parent, which one is chosen.
Row {
    property int current: 0
    property int count: 0
    signal chosen(index: int)
}
