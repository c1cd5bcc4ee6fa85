"""Read the pictures of all screens of the simulated phone with an OCR library, and count the words it finds.

A word is visible when the phone's tree has it as a text of a view that is wholly on the screen. It is read when
the library returns the same characters for it, whatever their case. Words with characters that the font does not
have, such as Chinese ones, are left out.
"""

import argparse
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable
from io import BytesIO
from typing import TYPE_CHECKING

from msgspec import Struct

from clawperator.phone.render.fonts import is_drawable
from clawperator.phone.toolkit.layout import PlacedView
from clawperator.testing import SimulatedPhone, simulated_phone
from clawperator.ui.node import Node
from tests.support.declared_screens import visit_declared_screens

if TYPE_CHECKING:
    from PIL.Image import Image

_BAR = 0.95
_SCALE = 0.6
_BULLET = "•"

Reader = Callable[["Image"], list[str]]


class Reading(Struct, frozen=True):
    """The words of one screen: how many are visible, and those that were not read."""

    name: str
    visible: int
    missed: tuple[str, ...]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="read only screens whose name contains this")
    options = parser.parse_args()
    readings = read_screens(_reader(), options.only)
    visible = sum(reading.visible for reading in readings)
    missed = sum(len(reading.missed) for reading in readings)
    for reading in readings:
        if reading.missed:
            print(f"{reading.name}: not read: {', '.join(reading.missed)}")
    if not visible:
        print("no screen was read")
        return 1
    part = (visible - missed) / visible
    print(f"{len(readings)} screens, {visible} words, {missed} not read: {part:.1%} read (at least {_BAR:.0%})")
    return 0 if part >= _BAR else 1


def read_screens(read: Reader, only: str = "") -> list[Reading]:
    """Read each screen of a new phone."""
    from PIL import Image

    readings = []
    with simulated_phone() as phone:
        for screen in visit_declared_screens(phone):
            name = " ".join(filter(None, (screen.app, screen.screen, screen.state)))
            if only not in name:
                continue
            with Image.open(BytesIO(phone.png())) as picture:
                lines = read(picture.convert("RGB"))
            visible = visible_words(phone)
            missed = Counter(visible) - Counter(_words(" ".join(lines)))
            readings.append(Reading(name, len(visible), tuple(missed.elements())))
            print(f"{len(readings)}: {name}", file=sys.stderr)
    return readings


def visible_words(phone: SimulatedPhone) -> list[str]:
    """The words that a user can read on the front window, and the time in the status bar."""
    texts = [node.text for node in phone.hierarchy().nodes if node.text and _is_legible(node)]
    return _words(" ".join([phone.phone.scene().time, *texts]))


def _is_legible(node: Node) -> bool:
    """Whether a view shows its text: not an image, not a password, and not cut off by the edge of a list."""
    placed = node.source
    if not isinstance(placed, PlacedView) or "Image" in node.class_name or _BULLET in node.text:
        return False
    return not node.bounds.is_empty and placed.area is None


def _words(text: str) -> list[str]:
    """Words in lower case, without accents and surrounding punctuation."""
    drawn = " ".join(word for word in text.split() if all(map(is_drawable, word)))
    plain = "".join(c for c in unicodedata.normalize("NFKD", drawn.casefold()) if not unicodedata.combining(c))
    punctuation = "".join(c for c in plain if not c.isalnum())
    return [bare for word in plain.split() if (bare := word.strip(punctuation))]


def _reader() -> Reader:
    import logging

    import numpy as np
    from rapidocr import RapidOCR

    logging.disable(logging.INFO)
    engine = RapidOCR()

    def read(picture: "Image") -> list[str]:
        size = round(picture.width * _SCALE), round(picture.height * _SCALE)
        found = engine(np.asarray(picture.resize(size)), use_cls=False)
        return list(found.txts or ())

    return read


if __name__ == "__main__":
    sys.exit(main())
