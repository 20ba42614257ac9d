import QtQuick
import QtQuick.Templates as T

import Waste.App
import Waste.Ui

// Code as it was written: its own panel, exact bytes on the clipboard, scrolls sideways or wraps.
Rectangle {
    id: root

    required property string language
    required property string plainText // the exact code
    required property bool closed // false while the model is still writing it
    property string title: root.language.length > 0 ? root.nameOf(root.language) : qsTr("Text")
    property bool wrapped: false
    property bool copied: false
    property string shown: ""

    // Models write "python" and "sql"; languages have names.
    function nameOf(language: string): string {
        const names = new Map([["cpp", "C++"], ["cs", "C#"], ["csharp", "C#"], ["js", "JavaScript"], ["javascript", "JavaScript"], ["ts", "TypeScript"], ["typescript", "TypeScript"], ["py", "Python"], ["sh", "Shell"], ["php", "PHP"], ["md", "Markdown"], ["cmake", "CMake"], ["yml", "YAML"]]);
        const key = language.toLowerCase();
        const isInitials = /^(sql|json|html|css|xml|yaml|toml|qml|ini|csv)$/.test(key);
        return names.get(key) ?? (isInitials ? key.toUpperCase() : language.charAt(0).toUpperCase() + language.slice(1));
    }
    // What is new is inserted: setting all of it again would cost the length of all of it.
    function showCode(): void {
        if (root.shown.length > 0 && root.plainText.startsWith(root.shown))
            words.insert(words.length, root.plainText.slice(root.shown.length));
        else
            words.text = root.plainText;
        root.shown = root.plainText;
    }

    width: parent ? parent.width : 0
    implicitHeight: head.height + scroll.height + Theme.hairline
    radius: Theme.radius
    color: Theme.sunken
    border.width: Theme.hairline
    border.color: Theme.highContrast ? Theme.lineStrong : Theme.line
    onPlainTextChanged: root.showCode()
    Component.onCompleted: root.showCode()

    Item {
        id: head
        width: parent.width
        height: Theme.u(34)
        UiText {
            x: Theme.u(13)
            height: parent.height
            text: root.title
            font: Theme.label
            color: Theme.text2
        }
        Row {
            anchors { right: parent.right; rightMargin: Theme.u(6); verticalCenter: parent.verticalCenter }
            spacing: Theme.u(2)
            IconButton {
                objectName: "wrapCode"
                name: root.wrapped ? qsTr("Do not wrap lines") : qsTr("Wrap lines")
                iconName: "wrap"
                on: root.wrapped
                onClicked: root.wrapped = !root.wrapped
            }
            UiButton {
                objectName: "copyCode"
                kind: UiButton.Quiet
                compact: true
                iconName: root.copied ? "check" : "copy"
                text: root.copied ? qsTr("Copied") : qsTr("Copy")
                enabled: root.closed // half a block is not worth pasting anywhere
                reason: qsTr("The block is not finished yet")
                onClicked: {
                    App.copy(root.plainText);
                    root.copied = true;
                    rest.restart();
                }
            }
        }
        Rectangle {
            anchors.bottom: parent.bottom
            width: parent.width
            height: Theme.hairline
            color: Theme.highContrast ? Theme.lineStrong : Theme.line
        }
        Timer {
            id: rest
            interval: 2000
            onTriggered: root.copied = false
        }
    }
    Flickable {
        id: scroll
        anchors.top: head.bottom
        width: parent.width
        height: words.implicitHeight
        contentWidth: root.wrapped ? width : Math.max(width, words.implicitWidth)
        contentHeight: height
        flickableDirection: Flickable.HorizontalFlick
        boundsBehavior: Flickable.StopAtBounds
        clip: true
        T.ScrollBar.horizontal: UiScrollBar {}

        TextEdit {
            id: words
            objectName: "codeText"
            width: root.wrapped ? scroll.width : Math.max(scroll.width, implicitWidth)
            leftPadding: Theme.u(13)
            rightPadding: Theme.u(13)
            topPadding: Theme.u(9)
            bottomPadding: Theme.u(11)
            textFormat: TextEdit.PlainText // model text is never interpreted as markup
            font: Theme.code
            color: Theme.text
            wrapMode: root.wrapped ? TextEdit.WrapAtWordBoundaryOrAnywhere : TextEdit.NoWrap
            readOnly: true
            selectByMouse: true
            selectionColor: Theme.accent
            selectedTextColor: Theme.accentInk
            horizontalAlignment: TextEdit.AlignLeft
            LayoutMirroring.enabled: false
            Accessible.role: Accessible.StaticText
            Accessible.readOnly: true
            Accessible.name: qsTr("Code in %1").arg(root.title)

            TextLines {
                document: words.textDocument
                height: Theme.codeLine
            }
            CodeHighlighter {
                document: words.textDocument
                language: root.language
                keyword: Theme.synKey
                string: Theme.synStr
                number: Theme.synNum
                comment: Theme.synCom
                call: Theme.synFn
            }
        }
    }
}
