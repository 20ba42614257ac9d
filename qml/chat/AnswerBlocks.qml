import QtQuick
import Qt.labs.qmlmodels

import Waste.App
import Waste.Ui

// How each kind of block of an answer is drawn.
DelegateChooser {
    role: "blockType"

    DelegateChoice {
        roleValue: ReplyBlocks.Heading
        HeadingBlock {}
    }
    DelegateChoice {
        roleValue: ReplyBlocks.Code
        CodeBlock {}
    }
    DelegateChoice {
        roleValue: ReplyBlocks.Quote
        QuoteBlock {}
    }
    DelegateChoice {
        roleValue: ReplyBlocks.Table
        TableBlock {}
    }
    DelegateChoice {
        roleValue: ReplyBlocks.Rule
        RuleBlock {}
    }
    DelegateChoice {
        roleValue: ReplyBlocks.Thinking
        ThinkingBlock {}
    }
    DelegateChoice {
        roleValue: ReplyBlocks.ToolCall
        ToolCallBlock {}
    }
    // Text and lists.
    DelegateChoice {
        ProseBlock {}
    }
}
