import QtQuick
import QtQuick.Templates as T

import Waste.Ui

// The one button. Primary at most once a view; Quiet for what is seldom needed; Danger names the object and the GB.
T.Button {
    id: root

    enum Kind { Secondary, Primary, Quiet, Danger }

    property int kind: UiButton.Secondary
    property bool compact: false
    property string iconName: ""
    property string iconAfter: ""
    property string note: "" // a price or a key, quieter than the label
    property string reason: "" // why it is disabled
    property string hint: "" // what it does, where its label is too short to say it

    readonly property bool filled: kind === UiButton.Primary
    readonly property bool framed: kind === UiButton.Secondary || kind === UiButton.Danger
    readonly property bool lit: (hovered || down) && enabled
    readonly property color ink: !enabled ? Theme.text3
        : filled ? Theme.accentInk
        : kind === UiButton.Danger ? Theme.danger
        : kind === UiButton.Quiet ? Theme.text2 : Theme.text
    readonly property color fill: !enabled ? (kind === UiButton.Quiet ? "transparent" : Theme.sunken)
        : filled ? (lit ? Theme.accentHover : Theme.accent)
        : lit ? (kind === UiButton.Danger ? Theme.dangerSoft : Theme.hover)
        : framed ? Theme.surface : "transparent"

    implicitHeight: compact ? Theme.controlSmall : Theme.control
    implicitWidth: Math.ceil(implicitContentWidth) + leftPadding + rightPadding
    leftPadding: compact ? Theme.u(9) : Theme.u(13)
    rightPadding: leftPadding
    focusPolicy: Qt.StrongFocus
    hoverEnabled: true
    Accessible.name: text
    Accessible.description: enabled ? hint || note : reason
    UiToolTip {
        text: root.enabled ? root.hint : root.reason
        visible: text.length > 0 && hover.hovered
    }
    HoverHandler {
        id: hover
    }

    contentItem: ButtonLine {
        text: root.text
        note: root.note
        ink: root.ink
        iconName: root.iconName
        iconAfter: root.iconAfter
        compact: root.compact
    }
    background: Rectangle {
        radius: Theme.radius
        color: root.fill
        // Without fills a disabled button would be words alone.
        border.width: root.framed || (Theme.highContrast && !root.enabled && root.kind !== UiButton.Quiet) ? Theme.hairline : 0
        border.color: !root.enabled ? Theme.line : root.kind === UiButton.Danger ? Theme.danger : Theme.lineStrong
        FocusRing {
            visible: root.visualFocus
        }
    }
}
