import QtQuick
import QtTest

import Waste.App
import Waste.Ui

Item {
    width: 700
    height: 600

    Composer {
        id: composer
        width: parent.width
        anchors.bottom: parent.bottom
    }

    TestCase {
        name: "Composer"
        when: windowShown

        function init(): void {
            App.chat.draft = "";
            composer.focusText();
        }
        function test_whatIsTypedIsTheDraft(): void {
            keyClick("a");
            keyClick("b");
            compare(App.chat.draft, "ab");
            App.chat.draft = "from elsewhere";
            compare(findChild(composer, "composerText").text, "from elsewhere");
        }
        function test_withoutAModelNothingIsSentAndTheReasonIsSaid(): void {
            keyClick("a");
            const button = findChild(composer, "sendButton");
            verify(!button.enabled);
            verify(button.reason.length > 0);
            keyClick(Qt.Key_Return);
            compare(App.chat.draft, "a");
        }
        function test_itGrowsWithItsLinesUpToALimit(): void {
            const one = composer.implicitHeight;
            App.chat.draft = "1\n2\n3";
            tryVerify(() => composer.implicitHeight > one);
            App.chat.draft = "line\n".repeat(8);
            const most = composer.implicitHeight;
            App.chat.draft = "line\n".repeat(80);
            wait(20);
            compare(composer.implicitHeight, most);
        }
        function test_itsLinesHaveTheHeightOfReadingText(): void {
            const field = findChild(composer, "composerText");
            App.chat.draft = "1";
            const one = field.implicitHeight;
            App.chat.draft = "1\n2\n3";
            compare(field.implicitHeight - one, 2 * Theme.readingLine);
        }
        function test_aLongErrorIsShownToItsEnd(): void {
            const without = composer.implicitHeight;
            App.chat.pictures.addFiles(["file:///" + "a-long-name-of-a-folder/".repeat(20) + "none.png"]);
            const note = findChild(composer, "composerNote");
            tryVerify(() => note.text.length > 480);
            verify(!note.truncated);
            tryVerify(() => composer.implicitHeight >= without + note.contentHeight);
            App.chat.pictures.addFiles([]);
            tryCompare(composer, "implicitHeight", without);
        }
        function test_theFirstCharacterMovesNothing(): void {
            const empty = composer.implicitHeight;
            keyClick("a");
            compare(composer.implicitHeight, empty);
        }
        function test_undoTakesBackWhatWasTypedAndNothingElse(): void {
            const field = findChild(composer, "composerText");
            App.chat.draft = "first";
            field.cursorPosition = field.length;
            keyClick("x");
            keyClick(Qt.Key_Z, Qt.ControlModifier);
            compare(field.text, "first");
        }
    }
}
