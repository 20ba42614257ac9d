import QtQuick
import QtTest

import Waste.App
import Waste.Ui

Item {
    id: root

    width: 500
    height: 400

    CodeBlock {
        id: block
        width: parent.width
        language: "python"
        plainText: "if a < b:\n\tprint(\"<b>\")"
        closed: true
    }
    TextEdit {
        id: target
    }

    TestCase {
        name: "CodeBlock"
        when: windowShown

        function init(): void {
            block.plainText = "if a < b:\n\tprint(\"<b>\")";
            block.closed = true;
            target.clear();
        }
        function test_languagesHaveTheirNames_data(): var {
            return [{ tag: "python", name: "Python" }, { tag: "cpp", name: "C++" }, { tag: "SQL", name: "SQL" },
                { tag: "json", name: "JSON" }, { tag: "rust", name: "Rust" }, { tag: " ", name: "Text" },
                { tag: "constructor", name: "Constructor" }, { tag: "__proto__", name: "__proto__" }];
        }
        function test_languagesHaveTheirNames(row: var): void {
            block.language = row.tag.trim(); // a row without tag gets another
            compare(block.title, row.name);
            block.language = "python";
        }
        function test_copyGivesTheExactText(): void {
            mouseClick(findChild(block, "copyCode"));
            target.paste();
            compare(target.text, "if a < b:\n\tprint(\"<b>\")");
            verify(block.copied);
        }
        function test_anUnfinishedBlockIsNotCopied(): void {
            block.closed = false;
            const button = findChild(block, "copyCode");
            verify(!button.enabled);
            mouseClick(button);
            target.paste();
            verify(target.text !== block.plainText);
        }
        function test_markupIsShownAsItStands(): void {
            compare(findChild(block, "codeText").text, block.plainText);
        }
        function test_whatIsAddedStandsBehindWhatIsThere(): void {
            block.plainText += "\nelse:";
            block.plainText += " pass";
            compare(findChild(block, "codeText").text, "if a < b:\n\tprint(\"<b>\")\nelse: pass");
            block.plainText = "other";
            compare(findChild(block, "codeText").text, "other");
        }
        function test_longLinesScrollOrWrap(): void {
            block.plainText = "word ".repeat(200);
            const height = block.implicitHeight;
            verify(findChild(block, "codeText").width > root.width);
            mouseClick(findChild(block, "wrapCode"));
            tryVerify(() => block.implicitHeight > height);
            verify(findChild(block, "codeText").width <= root.width);
            mouseClick(findChild(block, "wrapCode"));
        }
    }
}
