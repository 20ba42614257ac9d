import QtQuick

// The list view of conversations; a row tells it, its view, what was done with its conversation.
ListView {
    signal conversationOpened
    signal conversationRemoved(id: string, title: string)
}
