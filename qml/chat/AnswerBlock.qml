import QtQuick

import Waste.App
import Waste.Ui

// One block of an answer, drawn by what it is.
Loader {
    id: root

    required property int blockType
    required property string html
    required property string plainText
    required property string language
    required property int level
    required property bool closed
    required property var cells
    required property int columnCount
    required property var alignments
    required property string tail
    required property int tokenCount
    required property int seconds
    property bool live: false

    sourceComponent: {
        switch (root.blockType) {
        case ReplyBlocks.Code:
            return code;
        case ReplyBlocks.Table:
            return table;
        case ReplyBlocks.Rule:
            return rule;
        case ReplyBlocks.Quote:
            return quote;
        case ReplyBlocks.Thinking:
            return thinking;
        case ReplyBlocks.ToolCall:
            return toolCall;
        default:
            return prose;
        }
    }

    Component {
        id: prose
        ReadingText {
            content: root.html
            name: root.blockType === ReplyBlocks.Heading ? qsTr("Heading") : qsTr("Text")
            textFont: root.blockType !== ReplyBlocks.Heading ? Theme.reading : root.level <= 2 ? Theme.heading : Theme.title
        }
    }
    Component {
        id: quote
        QuoteBlock {
            content: root.html
        }
    }
    Component {
        id: code
        CodeBlock {
            language: root.language
            code: root.plainText
            closed: root.closed
        }
    }
    Component {
        id: table
        TableBlock {
            cells: root.cells
            columnCount: root.columnCount
            alignments: root.alignments
        }
    }
    Component {
        id: rule
        Item {
            implicitHeight: Theme.gap
            Rectangle {
                anchors.verticalCenter: parent.verticalCenter
                width: parent.width
                height: Theme.hairline
                color: Theme.highContrast ? Theme.lineStrong : Theme.line
            }
        }
    }
    Component {
        id: thinking
        ThinkingBlock {
            text: root.plainText
            tail: root.tail
            tokenCount: root.tokenCount
            seconds: root.seconds
            live: root.live && !root.closed
        }
    }
    Component {
        id: toolCall
        CodeBlock {
            language: qsTr("Tool call: %1").arg(root.language)
            code: root.plainText
            closed: root.closed
        }
    }
}
