import QtQuick
import QtTest

import Waste.Ui

// What ticks beside words may not move them.
TestCase {
    name: "Theme"

    TextMetrics {
        id: metrics
    }

    function widthOf(text: string, face: font): real {
        metrics.font = face;
        metrics.text = text;
        return metrics.advanceWidth;
    }

    function test_digitsOfFiguresShareOneWidth(): void {
        for (const face of [Theme.figure, Theme.figureSmall]) {
            const width = widthOf("00000000", face);
            for (let digit = 1; digit < 10; ++digit)
                compare(widthOf(String(digit).repeat(8), face), width);
            verify(metrics.font.family === Theme.familyFigures);
        }
        verify(widthOf("11111111", Theme.label) < widthOf("00000000", Theme.label)); // so the test can fail
    }

    function test_figuresStandAmongWordsOfTheSameFace(): void {
        // Letters have the widths of the text face, give or take the rounding of hints.
        fuzzyCompare(widthOf("tokens of context", Qt.font({ family: Theme.familyFigures, pixelSize: 40 })),
            widthOf("tokens of context", Qt.font({ family: Theme.family, pixelSize: 40 })), 1);
    }
}
