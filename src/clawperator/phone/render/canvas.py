"""A canvas for flat colours, frames and text, with a small bitmap font.

A pixel is one byte, the index of a colour. That is enough for drawn screens, and a screenshot takes milliseconds.
"""

import unicodedata
from functools import cache, lru_cache

from clawperator.phone.render.png import encode_png, rgba, shade_tables
from clawperator.ui import Bounds

_MAX_SIDE = 8_192
_MAX_COLOURS = 256
# More text in one line is unreadable.
_MAX_TEXT = 1_000


class Canvas:
    """A drawing surface. A colour is ``0xRRGGBB``; drawing outside the canvas has no effect.

    A canvas has at most 256 colours; further colours are replaced by the nearest one.
    """

    def __init__(self, width: int, height: int, background: int = 0xFFFFFF) -> None:
        if not (0 < width <= _MAX_SIDE and 0 < height <= _MAX_SIDE):
            raise ValueError(f"invalid canvas size {width} by {height}")
        self.width = width
        self.height = height
        self._indices = {background: 0}
        self._pixels = bytearray(width * height)

    @property
    def bounds(self) -> Bounds:
        return Bounds(0, 0, self.width, self.height)

    def fill(self, rect: Bounds, colour: int) -> None:
        """Fill a rectangle."""
        rect = rect.intersection(self.bounds)
        if rect.is_empty:
            return
        run = bytes([self._index(colour)]) * rect.width
        pixels, stride = self._pixels, self.width
        first = rect.top * stride + rect.left
        for start in range(first, first + rect.height * stride, stride):
            pixels[start : start + rect.width] = run

    def frame(self, rect: Bounds, colour: int, thickness: int = 2) -> None:
        """Draw the inner edge of a rectangle."""
        left, top, right, bottom = rect.left, rect.top, rect.right, rect.bottom
        thickness = min(thickness, rect.width, rect.height)
        self.fill(Bounds(left, top, right, top + thickness), colour)
        self.fill(Bounds(left, bottom - thickness, right, bottom), colour)
        self.fill(Bounds(left, top, left + thickness, bottom), colour)
        self.fill(Bounds(right - thickness, top, right, bottom), colour)

    def text(  # noqa: PLR0913, PLR0917 - the properties of a line of text
        self, x: int, y: int, string: str, size: int, colour: int, clip: Bounds | None = None
    ) -> None:
        """Draw a line of text whose capitals start at ``y``, inside ``clip`` only."""
        clip = self.bounds if clip is None else clip.intersection(self.bounds)
        factor = font_scale(size)
        rows = text_masks(string[:_MAX_TEXT], factor)
        left, right = max(x, clip.left), min(x + len(rows[0]), clip.right)
        if left >= right:
            return
        ink = int.from_bytes(bytes([self._index(colour)]) * (right - left))
        for row, mask in enumerate(rows):
            shape = int.from_bytes(mask[left - x : right - x])
            if shape:
                top = y + row * factor
                for line in range(max(top, clip.top), min(top + factor, clip.bottom)):
                    self._ink(line, left, right, shape, ink)

    def _ink(self, line: int, left: int, right: int, shape: int, ink: int) -> None:
        start = line * self.width
        part = slice(start + left, start + right)
        under = int.from_bytes(self._pixels[part])
        self._pixels[part] = (under ^ ((under ^ ink) & shape)).to_bytes(right - left)

    def _index(self, colour: int) -> int:
        indices = self._indices
        if colour not in indices:
            if len(indices) == _MAX_COLOURS:
                return indices[min(indices, key=lambda known: _distance(known, colour))]
            indices[colour] = len(indices)
        return indices[colour]

    def encode(self) -> bytes:
        """The canvas as PNG."""
        return encode_png(self.width, self.height, self._rows(), self.palette())

    def rgba(self) -> bytes:
        """Four bytes per pixel, row by row."""
        return bytes(rgba(self.pixels(), shade_tables(self.palette())))

    def pixels(self) -> bytes:
        """The colour indices, row by row."""
        return bytes(self._pixels)

    def _rows(self) -> list[bytes]:
        pixels, width = self.pixels(), self.width
        return [pixels[at : at + width] for at in range(0, len(pixels), width)]

    def palette(self) -> list[int]:
        """The colours by index."""
        return list(self._indices)


def _distance(a: int, b: int) -> int:
    return sum(((a >> shift & 0xFF) - (b >> shift & 0xFF)) ** 2 for shift in (0, 8, 16))


# The font. The sheet contains ASCII from the space on, in bands of sixteen characters and nine rows, of which the
# last two are below the baseline. Its last character replaces all characters that it does not contain. The font is
# proportional, and is scaled by whole factors.

_ROWS = 9
_CELL = 6
_BAND = 16
_UNKNOWN = "\x7f"
# Blank columns of the space character.
_SPACE = 3
# Common characters that are drawn like another one.
_LOOKALIKES = {
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
    **dict.fromkeys("\u2018\u2019\u2032\u00b4", "'"),
    **dict.fromkeys("\u201c\u201d\u2033\u00ab\u00bb", '"'),
    **dict.fromkeys("\u2022\u00b7\u25cf", "*"),
    "\u00d7": "x",
    "\u2026": "...",
    "\u00df": "ss",
    "\u203a": ">",
    "\u2039": "<",
}

_SHEET = """
..... ..#.. .#.#. .#.#. ..#.. ##..# .##.. ..#.. ...#. .#... ..... ..... ..... ..... ..... ....#
..... ..#.. .#.#. .#.#. .#### ##..# #..#. ..#.. ..#.. ..#.. #.#.# ..#.. ..... ..... ..... ...#.
..... ..#.. .#.#. ##### #.#.. ...#. #..#. ..#.. .#... ...#. .###. ..#.. ..... ..... ..... ...#.
..... ..#.. ..... .#.#. .###. ..#.. .##.. ..... .#... ...#. ##### ##### ..... .###. ..... ..#..
..... ..#.. ..... ##### ..#.# .#... #.#.# ..... .#... ...#. .###. ..#.. ..... ..... ..... .#...
..... ..... ..... .#.#. ####. #..## #..#. ..... ..#.. ..#.. #.#.# ..#.. ..##. ..... .##.. .#...
..... ..#.. ..... .#.#. ..#.. #..## .##.# ..... ...#. .#... ..... ..... ..##. ..... .##.. #....
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ...#. ..... ..... .....
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..#.. ..... ..... .....
.###. ..#.. .###. .###. ...#. ##### ..##. ##### .###. .###. ..... ..... ....# ..... #.... .###.
#...# .##.. #...# #...# ..##. #.... .#... ....# #...# #...# ..#.. ..##. ...#. ..... .#... #...#
#..## #.#.. ....# ....# .#.#. ####. #.... ...#. #...# #...# ..#.. ..##. ..#.. ##### ..#.. ....#
#.#.# ..#.. ..##. ..##. #..#. ....# ####. ...#. .###. .#### ..... ..... .#... ..... ...#. ...#.
##..# ..#.. .#... ....# ##### ....# #...# ..#.. #...# ....# ..... ..... ..#.. ##### ..#.. ..#..
#...# ..#.. #.... #...# ...#. #...# #...# ..#.. #...# ...#. ..#.. ..##. ...#. ..... .#... .....
.###. ##### ##### .###. ...#. .###. .###. ..#.. .###. .##.. ..#.. ..##. ....# ..... #.... ..#..
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ...#. ..... ..... ..... .....
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..#.. ..... ..... ..... .....
.###. .###. ####. .###. ####. ##### ##### .###. #...# .###. ..### #...# #.... #...# #...# .###.
#...# #...# #...# #...# #...# #.... #.... #...# #...# ..#.. ...#. #..#. #.... ##.## ##..# #...#
#.### #...# #...# #.... #...# #.... #.... #.... #...# ..#.. ...#. #.#.. #.... #.#.# ##..# #...#
#.#.# ##### ####. #.... #...# ####. ####. #.### ##### ..#.. ...#. ##... #.... #.#.# #.#.# #...#
#.### #...# #...# #.... #...# #.... #.... #...# #...# ..#.. ...#. #.#.. #.... #...# #..## #...#
#.... #...# #...# #...# #...# #.... #.... #...# #...# ..#.. #..#. #..#. #.... #...# #..## #...#
.#### #...# ####. .###. ####. ##### #.... .#### #...# .###. .##.. #...# ##### #...# #...# .###.
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .....
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .....
####. .###. ####. .#### ##### #...# #...# #...# #...# #...# ##### .###. #.... .###. ..#.. .....
#...# #...# #...# #.... ..#.. #...# #...# #...# #...# #...# ....# .#... .#... ...#. .#.#. .....
#...# #...# #...# #.... ..#.. #...# #...# #...# .#.#. .#.#. ...#. .#... .#... ...#. #...# .....
####. #...# ####. .###. ..#.. #...# #...# #.#.# ..#.. ..#.. ..#.. .#... ..#.. ...#. ..... .....
#.... #.#.# #.#.. ....# ..#.. #...# .#.#. #.#.# .#.#. ..#.. .#... .#... ...#. ...#. ..... .....
#.... #..#. #..#. ....# ..#.. #...# .#.#. ##.## #...# ..#.. #.... .#... ...#. ...#. ..... .....
#.... .##.# #...# ####. ..#.. .###. ..#.. #...# #...# ..#.. ##### .###. ....# .###. ..... .....
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... #####
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .....
.#... ..... #.... ..... ....# ..... ..##. ..... #.... ..#.. ...#. #.... .##.. ..... ..... .....
..#.. ..... #.... ..... ....# ..... .#... ..... #.... ..... ..... #.... ..#.. ..... ..... .....
..... .###. ####. .###. .#### .###. ####. .#### ####. .##.. ..##. #..#. ..#.. ##.#. ####. .###.
..... ....# #...# #.... #...# #...# .#... #...# #...# ..#.. ...#. #.#.. ..#.. #.#.# #...# #...#
..... .#### #...# #.... #...# ##### .#... #...# #...# ..#.. ...#. ##... ..#.. #.#.# #...# #...#
..... #...# #...# #.... #...# #.... .#... #...# #...# ..#.. ...#. #.#.. ..#.. #.#.# #...# #...#
..... .#### ####. .###. .#### .#### .#... .#### #...# .###. ...#. #..#. .###. #.#.# #...# .###.
..... ..... ..... ..... ..... ..... ..... ....# ..... ..... ...#. ..... ..... ..... ..... .....
..... ..... ..... ..... ..... ..... ..... .###. ..... ..... .##.. ..... ..... ..... ..... .....
..... ..... ..... ..... .#... ..... ..... ..... ..... ..... ..... ...## ..#.. ##... ..... #####
..... ..... ..... ..... .#... ..... ..... ..... ..... ..... ..... ..#.. ..#.. ..#.. ..... #...#
####. .#### #.##. .#### ####. #...# #...# #...# #...# #...# ##### ..#.. ..#.. ..#.. .#..# #...#
#...# #...# ##... #.... .#... #...# #...# #...# .#.#. #...# ...#. .#... ..#.. ...#. #.#.# #...#
#...# #...# #.... .###. .#... #...# #...# #.#.# ..#.. #...# ..#.. ..#.. ..#.. ..#.. #..#. #...#
#...# #...# #.... ....# .#... #...# .#.#. #.#.# .#.#. #...# .#... ..#.. ..#.. ..#.. ..... #...#
####. .#### #.... ####. ..##. .#### ..#.. .#.#. #...# .#### ##### ...## ..#.. ##... ..... #####
#.... ....# ..... ..... ..... ..... ..... ..... ..... ....# ..... ..... ..... ..... ..... .....
#.... ....# ..... ..... ..... ..... ..... ..... ..... .###. ..... ..... ..... ..... ..... .....
"""


def text_width(text: str, size: int) -> int:
    """The width in pixels of a line of text, with the gap after its last character."""
    factor = font_scale(size)
    return sum(len(_glyph(c)[0]) for c in _drawn(text)) * factor


def font_scale(size: int) -> int:
    """The scale factor of a text size: capitals are seven tenths of the size high."""
    return max(1, round(size / 10))


def text_height(size: int) -> int:
    """The height of a line, from the top of a capital to the bottom of a descender."""
    return _ROWS * font_scale(size)


def text_masks(text: str, factor: int) -> list[bytes]:
    """A line of text as rows of bytes, 255 where it is drawn. Each row is repeated ``factor`` times."""
    glyphs = [_scaled(c, factor) for c in _drawn(text)]
    return [b"".join([glyph[row] for glyph in glyphs]) for row in range(_ROWS)]


@lru_cache(maxsize=2_048)
def _scaled(char: str, factor: int) -> tuple[bytes, ...]:
    return tuple(b"".join(bytes([255 * ink]) * factor for ink in row) for row in _glyph(char))


@cache
def _glyph(char: str) -> tuple[tuple[bool, ...], ...]:
    """The rows of a character on the sheet, without surrounding empty columns, with the gap after it."""
    if char == " ":
        return ((False,) * _SPACE,) * _ROWS
    band, place = divmod(ord(char) - ord(" "), _BAND)
    lines = _SHEET.splitlines()[1 + band * _ROWS :][:_ROWS]
    cells = [line[place * _CELL : place * _CELL + _CELL - 1] for line in lines]
    inked = [column for column in range(_CELL - 1) if any(cell[column] == "#" for cell in cells)]
    return tuple((*(c == "#" for c in cell[inked[0] : inked[-1] + 1]), False) for cell in cells)


def _drawn(text: str) -> str:
    """The text in characters of the sheet: without accents, and a square for unknown characters."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_substitute, text))


@lru_cache(maxsize=4_096)
def _substitute(char: str) -> str:
    if " " <= char <= "~":
        return char
    if char in _LOOKALIKES:
        return _LOOKALIKES[char]
    if char.isspace():
        return " "
    if unicodedata.category(char) in {"Mn", "Me", "Cf", "Cc"}:
        return ""
    base = unicodedata.normalize("NFKD", char)[0]
    return base if " " < base <= "~" else _UNKNOWN
