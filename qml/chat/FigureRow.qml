import QtQuick

// The figures of the status strip; each finds in it, its parent, whether there is room for it.
Row {
    property int countMax: 4
}
