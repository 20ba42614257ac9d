import QtQuick

import Waste.App
import Waste.Ui

// Whether the model thinks before it answers, and how much.
UiButton {
    id: root

    readonly property string effortName: [qsTr("on"), qsTr("low"), qsTr("high"), qsTr("max")][App.settings.effort] ?? ""

    kind: UiButton.Quiet
    compact: true
    iconName: "thinking"
    iconAfter: "chevron-down"
    text: App.settings.thinking ? qsTr("Thinking: %1").arg(root.effortName) : qsTr("Thinking: off")
    onClicked: menu.popup(root, 0, -menu.height - Theme.gapTiny)

    function choose(effort: int): void {
        App.settings.thinking = true;
        App.settings.effort = effort;
    }

    UiMenu {
        id: menu
        UiMenuItem {
            text: qsTr("Off")
            checkable: true
            checked: !App.settings.thinking
            onTriggered: App.settings.thinking = false
        }
        UiMenuItem {
            text: qsTr("Low")
            checkable: true
            checked: App.settings.thinking && App.settings.effort === AppSettings.Low
            onTriggered: root.choose(AppSettings.Low)
        }
        UiMenuItem {
            text: qsTr("High")
            checkable: true
            checked: App.settings.thinking && App.settings.effort === AppSettings.High
            onTriggered: root.choose(AppSettings.High)
        }
        UiMenuItem {
            text: qsTr("Max")
            checkable: true
            checked: App.settings.thinking && App.settings.effort === AppSettings.Max
            onTriggered: root.choose(AppSettings.Max)
        }
    }
}
