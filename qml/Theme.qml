pragma Singleton
import QtQuick

import Waste.App

// Every colour, size, font and duration of the window. Nothing else in the QML holds a literal one.
QtObject {
    id: root

    enum Scheme { Light, Dark, HighContrast }

    // Both follow the settings.
    readonly property int scheme: App.settings.effectiveTheme === AppSettings.Dark ? Theme.Dark
        : App.settings.effectiveTheme === AppSettings.HighContrast ? Theme.HighContrast : Theme.Light
    readonly property real zoom: App.settings.zoom // 0.8 to 2.0; scales text, spacing and controls, never hairlines

    readonly property bool light: scheme === Theme.Light
    readonly property bool highContrast: scheme === Theme.HighContrast

    // Clock times without seconds, in the order of the person's language.
    readonly property string clock: Qt.locale().timeFormat(Locale.ShortFormat).replace(/[:.]?ss/, "")

    // Pixels at the present zoom.
    function u(px: real): real { return Math.round(px * root.zoom) }

    // Colours: light, dark, high contrast.
    readonly property color base: ["#ECEAE4", "#111415", "#000000"][scheme] // rail, side bars, window frame
    readonly property color page: ["#FAF9F6", "#171A1B", "#000000"][scheme] // page background behind cards and the transcript
    readonly property color surface: ["#FFFFFF", "#1E2223", "#000000"][scheme] // cards, fields, popups
    readonly property color sunken: ["#F2F0EB", "#121516", "#000000"][scheme] // code, bar tracks, quoted blocks
    readonly property color hover: ["#E3E0D8", "#2A2F31", "#2B2B2B"][scheme] // hovered row or quiet button
    readonly property color line: ["#DDDAD1", "#2E3436", "#8C8C8C"][scheme] // hairlines that only decorate
    readonly property color lineStrong: ["#86837B", "#767E80", "#FFFFFF"][scheme] // borders of controls: 3:1 or more
    readonly property color text: ["#1B1E1F", "#E7E8E5", "#FFFFFF"][scheme] // primary
    readonly property color text2: ["#505557", "#AFB5B5", "#F0F0F0"][scheme] // secondary, labels
    readonly property color text3: ["#5D6265", "#959C9D", "#DADADA"][scheme] // captions, units
    readonly property color accent: ["#0D6A61", "#5CC4B3", "#5CF0D8"][scheme] // primary buttons, progress, selection marks
    readonly property color accentHover: ["#09564F", "#78D3C4", "#A2F8EA"][scheme]
    readonly property color accentInk: ["#FFFFFF", "#05231F", "#000000"][scheme] // text on accent
    readonly property color accentSoft: ["#DCECE8", "#18332F", "#00332D"][scheme] // selected row, soft fill
    readonly property color accentText: ["#0A5C54", "#74D2C2", "#7DF5E2"][scheme] // links, selected labels
    readonly property color warn: ["#7F5200", "#E5B455", "#FFD24A"][scheme] // text and icons of warnings
    readonly property color warnSoft: ["#FBF0D8", "#332A13", "#2E2400"][scheme]
    readonly property color warnMark: ["#B5750F", "#D9A23C", "#FFD24A"][scheme] // bars and marks
    readonly property color danger: ["#AC231B", "#FF9086", "#FFA79E"][scheme] // errors, paging, delete
    readonly property color dangerSoft: ["#FBE9E6", "#3B1F1C", "#3A0A06"][scheme]
    readonly property color focus: ["#2455C3", "#8FB7FF", "#FFE600"][scheme] // focus ring only
    readonly property color synKey: ["#8A3FA0", "#D19BE3", "#E9BBFF"][scheme]
    readonly property color synStr: ["#2F6B1E", "#9CCB86", "#B9F29E"][scheme]
    readonly property color synNum: ["#9A4A00", "#E5A46B", "#FFC187"][scheme]
    readonly property color synCom: ["#5D6265", "#959C9D", "#DADADA"][scheme]
    readonly property color synFn: ["#1F57A8", "#86B6F2", "#A9D1FF"][scheme]

    // Spacing, in multiples of four.
    readonly property real gapTiny: u(4)
    readonly property real gapSmall: u(8)
    readonly property real gap: u(12)
    readonly property real gapLarge: u(16)
    readonly property real gapHuge: u(24)

    // Shapes.
    readonly property real radiusCell: u(2)
    readonly property real radiusSmall: u(5)
    readonly property real radius: u(7)
    readonly property real radiusCard: u(10)
    readonly property real radiusLarge: u(14)
    readonly property real hairline: highContrast ? 2 : 1
    readonly property real focusWidth: highContrast ? 3 : 2

    // Heights of controls.
    readonly property real controlSmall: u(26)
    readonly property real control: u(32)
    readonly property real icon: u(18)
    readonly property real iconSmall: u(15)

    // Motion. Zero when the person asks for less of it.
    readonly property bool reducedMotion: App.settings.reducedMotion
    readonly property int durationFast: reducedMotion ? 0 : 80
    readonly property int durationPanel: reducedMotion ? 0 : 200

    // Type. Words in Inter; whatever is measured and ticks in the same face with digits of one width; code in JetBrains
    // Mono.
    readonly property string family: "Inter"
    readonly property string familyFigures: "Inter Figures"
    readonly property string familyMono: "JetBrains Mono"
    function face(px: real, weight: int): font { return Qt.font({ family: root.family, pixelSize: root.u(px), weight: weight }) }
    // Without shaping: the ligatures of the face would show != as one other character.
    function mono(px: real, weight: int): font { return Qt.font({ family: root.familyMono, pixelSize: root.u(px), weight: weight, preferShaping: false }) }
    readonly property font caption: face(11.5, Font.Normal)
    readonly property font captionStrong: face(11.5, Font.DemiBold)
    readonly property font label: face(12.5, Font.Normal)
    readonly property font labelStrong: face(12.5, Font.DemiBold)
    readonly property font labelItalic: Qt.font({ family: root.family, pixelSize: root.u(12.5), italic: true })
    readonly property font body: face(13.5, Font.Normal)
    readonly property font reading: face(15, Font.Normal)
    readonly property font title: face(15, Font.DemiBold)
    readonly property font heading: face(19, Font.DemiBold)
    readonly property font display: face(24, Font.DemiBold)
    readonly property font figure: Qt.font({ family: root.familyFigures, pixelSize: root.u(13) })
    readonly property font figureSmall: Qt.font({ family: root.familyFigures, pixelSize: root.u(11.5) })
    readonly property font code: mono(13, Font.Normal)
    readonly property real readingLine: u(24) // line height of reading text
    readonly property real headingLine: u(27)
    readonly property real bodyLine: u(19)
    readonly property real codeLine: u(20)

    // Widths of the window's columns.
    readonly property real rail: u(84)
    readonly property real sideList: u(268)
    readonly property real measure: u(760) // of the transcript
    readonly property real header: u(52)
}
