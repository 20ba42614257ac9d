import QtQuick
import QtQuick.Templates as T

import Waste.App
import Waste.Ui

// What a new conversation shows before its first message: whether the model is ready, and samples.
Flickable {
    id: root

    readonly property bool failed: App.status.state === StatusModel.Failed
    readonly property real columnWidth: Math.min(Theme.measure, root.width - 2 * Theme.gapLarge)

    contentWidth: root.width
    contentHeight: Math.max(root.height, column.implicitHeight + 2 * Theme.gapHuge)
    clip: true
    boundsBehavior: Flickable.StopAtBounds
    T.ScrollBar.vertical: UiScrollBar {}

    Item {
        width: root.width
        height: root.contentHeight

        Column {
            id: column
            x: (parent.width - width) / 2
            y: Math.max(Theme.gapHuge, Math.min(Theme.u(76), (root.height - implicitHeight) / 2))
            width: root.columnWidth

            Image {
                width: Theme.u(52)
                height: width
                source: "qrc:/icons/app-icon.svg"
                sourceSize.width: width
                sourceSize.height: height
                Accessible.ignored: true
            }
            Item {
                width: 1
                height: Theme.u(20)
            }
            UiText {
                width: parent.width
                text: App.chat.modelReady ? qsTr("%1 is ready").arg(App.chat.modelName) : App.status.label
                font: Theme.display
                wrapMode: Text.Wrap
                Accessible.role: Accessible.Heading
                Accessible.name: text
            }
            Item {
                width: 1
                height: Theme.gap
            }
            UiText {
                width: parent.width
                visible: root.failed || App.chat.builtInModel
                text: root.failed ? App.status.note : qsTr("It is built in, small, and answers at once. It is a demonstration: it knows countries, elements, words and small sums, and is often wrong about anything else. Everything stays on this computer.")
                font: Theme.reading
                color: Theme.text2
                wrapMode: Text.Wrap
                lineHeight: 1.3
                elide: Text.ElideNone
            }
            Item {
                width: 1
                height: Theme.u(20)
            }
            Grid {
                id: samples
                visible: !root.failed
                width: parent.width
                spacing: Theme.gap
                columns: width >= Theme.u(600) ? 3 : 1
                Repeater {
                    model: App.chat.samples
                    delegate: SampleCard {}
                }
            }
        }
    }
}
