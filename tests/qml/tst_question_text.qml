import QtQuick
import QtTest

import Waste.Ui

Item {
    width: 500
    height: 400

    Component {
        id: question
        QuestionText {
            width: 400
        }
    }

    TestCase {
        name: "QuestionText"
        when: windowShown

        function test_aQuestionIsShownAsItWasTyped(): void {
            const shown = createTemporaryObject(question, this, { plainText: "Is <b> *bold*?" });
            compare(findChild(shown, "questionText").text, "Is <b> *bold*?");
            verify(!findChild(shown, "showAll").visible);
        }
        function test_ofAVeryLongOneTheBeginningIsLaidOutUntilAllIsAskedFor(): void {
            const text = "1234567 ".repeat(4000);
            const shown = createTemporaryObject(question, this, { plainText: text });
            const words = findChild(shown, "questionText");
            verify(words.length < text.length);
            verify(text.startsWith(words.text.slice(0, -1)));
            findChild(shown, "showAll").clicked();
            compare(words.text, text);
            verify(!findChild(shown, "showAll").visible);
        }
    }
}
