import QtQuick

// The list view of conversations; a row tells it, its view, that its conversation was opened.
ListView {
    signal conversationOpened
}
