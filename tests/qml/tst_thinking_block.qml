import QtQuick
import QtTest

import Waste.App
import Waste.Ui

Item {
    width: 500
    height: 400

    ThinkingBlock {
        id: block
        width: parent.width
        plainText: "First one thing. Then <b>another</b>."
        tail: "Then <b>another</b>."
        tokenCount: 12
        seconds: 75
        closed: true
    }

    TestCase {
        name: "ThinkingBlock"
        when: windowShown

        function init(): void {
            App.settings.thinkingOpen = false;
            block.closed = true;
        }
        function test_aClickOpensAndFoldsIt(): void {
            const folded = block.implicitHeight;
            mouseClick(block, 20, 15);
            tryVerify(() => block.implicitHeight > folded);
            mouseClick(block, 20, 15);
            tryCompare(block, "implicitHeight", folded);
        }
        function test_theKeyboardOpensItAndTheChoiceIsKept(): void {
            block.forceActiveFocus(Qt.TabFocusReason);
            keyClick(Qt.Key_Space);
            verify(App.settings.thinkingOpen);
            keyClick(Qt.Key_Return);
            verify(!App.settings.thinkingOpen);
        }
        function test_itSaysWhetherTheModelStillThinks(): void {
            verify(block.Accessible.name.startsWith("Thought, 12 tokens, 1:15"));
            block.closed = false;
            verify(block.Accessible.name.startsWith("Thinking"));
        }
    }
}
