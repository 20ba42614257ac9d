import QtQuick
import QtQuick.Templates as T

import Waste.App
import Waste.Ui

// Settings are effective at once and kept.
Flickable {
    id: root

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
            x: Theme.u(28)
            y: Theme.gapHuge
            width: Math.min(Theme.u(900), root.width - 2 * x)
            spacing: Theme.gap

            UiText {
                text: qsTr("Settings")
                font: Theme.heading
                Accessible.role: Accessible.Heading
                Accessible.name: text
            }
            UiText {
                width: parent.width
                visible: text.length > 0
                text: App.settings.fileError
                wrapMode: Text.Wrap
                color: Theme.danger
                Accessible.role: Accessible.AlertMessage
                Accessible.name: text
            }
            SettingsSection {
                width: parent.width
                title: qsTr("Appearance")
                SettingRow {
                    width: parent.width
                    title: qsTr("Theme")
                    effect: qsTr("Auto follows the colours of the system when the program starts.")
                    SegmentedControl {
                        name: qsTr("Theme")
                        choices: [qsTr("Auto"), qsTr("Light"), qsTr("Dark"), qsTr("High contrast")]
                        current: App.settings.theme
                        onChosen: index => App.settings.theme = index
                    }
                }
                SettingRow {
                    width: parent.width
                    title: qsTr("Zoom")
                    effect: qsTr("Text, space and controls. Ctrl + and Ctrl − do the same.")
                    Row {
                        spacing: Theme.gapSmall
                        UiButton {
                            compact: true
                            text: qsTr("−")
                            Accessible.name: qsTr("Smaller")
                            enabled: App.settings.zoom > 0.8
                            onClicked: App.settings.zoomBy(-1)
                        }
                        UiText {
                            width: Theme.u(52)
                            height: Theme.controlSmall
                            horizontalAlignment: Text.AlignHCenter
                            text: qsTr("%1 %").arg(Math.round(App.settings.zoom * 100))
                            font: Theme.figure
                        }
                        UiButton {
                            compact: true
                            text: qsTr("+")
                            Accessible.name: qsTr("Larger")
                            enabled: App.settings.zoom < 2
                            onClicked: App.settings.zoomBy(1)
                        }
                    }
                }
                SettingRow {
                    width: parent.width
                    title: qsTr("Reduced motion")
                    effect: qsTr("Panels open and colours change at once.")
                    UiSwitch {
                        name: qsTr("Reduced motion")
                        checked: App.settings.reducedMotion
                        onToggled: App.settings.reducedMotion = checked
                    }
                }
            }
            SettingsSection {
                width: parent.width
                title: qsTr("Chat")
                SettingRow {
                    width: parent.width
                    title: qsTr("Enter sends")
                    effect: App.settings.enterSends ? qsTr("Shift+Enter begins a new line.") : qsTr("Ctrl+Enter sends, Enter begins a new line.")
                    UiSwitch {
                        name: qsTr("Enter sends")
                        checked: App.settings.enterSends
                        onToggled: App.settings.enterSends = checked
                    }
                }
                SettingRow {
                    width: parent.width
                    title: qsTr("Thinking before answering")
                    effect: qsTr("The model writes down its reasoning first. It takes longer and helps with sums and choices.")
                    UiSwitch {
                        name: qsTr("Thinking before answering")
                        checked: App.settings.thinking
                        onToggled: App.settings.thinking = checked
                    }
                }
                SettingRow {
                    width: parent.width
                    title: qsTr("Show thinking opened")
                    effect: qsTr("Otherwise one line shows its last words.")
                    UiSwitch {
                        name: qsTr("Show thinking opened")
                        checked: App.settings.thinkingOpen
                        onToggled: App.settings.thinkingOpen = checked
                    }
                }
            }
            SettingsSection {
                width: parent.width
                title: qsTr("About")
                SettingRow {
                    width: parent.width
                    title: qsTr("WASTE Desktop %1").arg(App.version)
                    effect: qsTr("Nothing leaves this computer: the program contacts no host.")
                }
            }
        }
    }
}
