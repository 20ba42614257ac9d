import QtQuick
import Qt.labs.qmlmodels

import Waste.App
import Waste.Ui

// How each kind of message is drawn.
DelegateChooser {
    role: "author"

    DelegateChoice {
        roleValue: MessageListModel.User
        UserMessage {}
    }
    DelegateChoice {
        roleValue: MessageListModel.Assistant
        AssistantMessage {}
    }
    DelegateChoice {
        NoticeLine {}
    }
}
