#!/usr/bin/env python3
"""Makes InterFigures-Regular.otf of Inter-Regular.otf: the same face with digits of one width.

Inter has such digits, as the feature tnum, which Qt 6.4 cannot switch on (QFont::setFeature came with 6.7). Here they
stand where the proportional ones were, so that a number that changes while one reads it does not move its neighbours.
Needs fonttools (Debian: python3-fonttools); only somebody who updates Inter has to run it.
"""

from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

FAMILY = "Inter Figures"
FOLDER = Path(__file__).parent


def tabular_digits(font):
    table = font["GSUB"].table
    lookups = next(r.Feature.LookupListIndex for r in table.FeatureList.FeatureRecord if r.FeatureTag == "tnum")
    pairs = {}
    for lookup in lookups:
        for subtable in table.LookupList.Lookup[lookup].SubTable:
            pairs.update(getattr(subtable, "ExtSubTable", subtable).mapping)
    cmap = font.getBestCmap()
    return {code: pairs[cmap[code]] for code in range(ord("0"), ord("9") + 1)}


def main():
    font = TTFont(FOLDER / "Inter-Regular.otf")
    digits = tabular_digits(font)
    for table in font["cmap"].tables:
        table.cmap.update({code: glyph for code, glyph in digits.items() if code in table.cmap})
    # Units and words beside numbers: Latin, Greek, Cyrillic, punctuation. Anything else is drawn in Inter.
    options = Options()
    options.layout_features = ["kern", "mark", "mkmk", "ccmp"]
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=[*range(0x20, 0x250), *range(0x370, 0x530), *range(0x2000, 0x2070), 0x20AC, 0x2212])
    subsetter.subset(font)
    for record in list(font["name"].names):
        if record.nameID in (1, 4, 16):
            font["name"].setName(FAMILY, record.nameID, record.platformID, record.platEncID, record.langID)
        elif record.nameID in (3, 6):
            font["name"].setName("InterFigures-Regular", record.nameID, record.platformID, record.platEncID, record.langID)
    font["CFF "].cff.fontNames = ["InterFigures-Regular"]
    font.save(FOLDER / "InterFigures-Regular.otf")
    widths = {font["hmtx"][font.getBestCmap()[code]][0] for code in digits}
    assert len(widths) == 1, widths


main()
