"""Text for pictures: Pillow's built-in font, the characters it has, and lines that fit a width.

The font comes with Pillow, so that a screen looks the same on every machine. It has ASCII and some punctuation.
Letters with accents are drawn as the letter and its accent; any other character is drawn as a box.
"""

import unicodedata
from bisect import bisect_right
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFont import FreeTypeFont

_ACUTE, _DOT = "\u00b4", "\u00b7"
_SYMBOLS = f"\u00a9\u00ab\u00b0\u00b1\u00bb\u2018\u2019\u201c\u201d\u2026\u2039\u203a\u2044\u2122{_ACUTE}{_DOT}"
ELLIPSIS = "\u2026"
# Characters for private use are icons of an app's own font, most of them arrows.
_ICON_GLYPH = "\u203a"
# No font has a glyph for it: it is drawn as the box of unknown characters.
_BOX = "\uffff"
_LOOKALIKES = {
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
    **dict.fromkeys("\u2022\u25cf", _DOT),
    "\u2032": "'",
    "\u2033": '"',
    "\u00d7": "x",
    "\u00df": "ss",
    "\u00a0": " ",
    "\u202f": " ",
}
# Accents, each drawn with a character of the font: that character, and how far it is moved up, in heights.
_ACCENTS = {
    "\u0300": ("`", 0.0),
    "\u0301": (_ACUTE, 0.0),
    "\u0302": ("^", 0.0),
    "\u0303": ("~", 0.42),
    "\u0308": (_DOT * 2, 0.42),
    "\u030a": ("\u00b0", 0.0),
}
# Of characters that are taller: their accents are higher.
_CAPITAL = 0.2
_NARROWEST = 0.2
_MIN_SIZE = 5
_MAX_SIZE = 400


@lru_cache(maxsize=48)
def font(size: int) -> "FreeTypeFont":
    """The font in a size in pixels."""
    from PIL import ImageFont

    found = ImageFont.load_default(size)
    assert isinstance(found, ImageFont.FreeTypeFont)
    return found


def font_size(pixels: float) -> int:
    return min(_MAX_SIZE, max(_MIN_SIZE, round(pixels)))


@lru_cache(maxsize=1_024)
def text_width(text: str, size: int) -> int:
    """The width of a line of text in pixels."""
    return sum([_glyph(char, size).advance for char in _base(text)])


class _Glyph(NamedTuple):
    """A character as a mask, where it is relative to its place on the baseline, and the width it takes."""

    mask: "Image | None"
    left: int
    top: int
    advance: int


@lru_cache(maxsize=1_024)
def _glyph(char: str, size: int) -> _Glyph:
    """A character. It is drawn once: composing a text of glyphs takes a fifth of the time of drawing it."""
    from PIL import Image, ImageDraw

    advance = round(font(size).getlength(char))
    left, top, right, bottom = map(round, font(size).getbbox(char, anchor="ls"))
    if left >= right or top >= bottom:
        return _Glyph(None, 0, 0, advance)
    mask = Image.new("L", (right - left, bottom - top))
    ImageDraw.Draw(mask).text((-left, -top), char, 255, font(size), anchor="ls")
    return _Glyph(mask, left, top, advance)


def mask_size(text: str, size: int) -> tuple[int, int]:
    """The width and height of the mask of a line of text."""
    return text_width(text, size) + 2 * margin(size), ascent(size) + round(size * 0.3)


def text_mask(text: str, size: int) -> "Image":
    """A line of text as a mask, 255 where it is drawn. Its baseline is ``ascent(size)`` below the top.

    The text starts ``margin(size)`` right of the left edge, because some glyphs begin before their place.
    """
    from PIL import Image

    mask = Image.new("L", mask_size(text, size))
    x, baseline = margin(size), ascent(size)
    base = _base(text)
    for char in base:
        glyph = _glyph(char, size)
        _stamp(mask, glyph, x, baseline)
        x += glyph.advance
    for index, accent in _accents(text):
        _stamp_accent(mask, base, index, accent, size)
    return mask


def _stamp(mask: "Image", glyph: _Glyph, x: int, baseline: int) -> None:
    if glyph.mask is not None:
        mask.paste(255, (x + glyph.left, baseline + glyph.top), glyph.mask)


def ascent(size: int) -> int:
    """The height of a line above its baseline, with accents."""
    return round(size * 1.02)


def capital_height(size: int) -> int:
    return round(size * 0.7)


def margin(size: int) -> int:
    return size // 8 + 1


def _stamp_accent(mask: "Image", base: str, index: int, accent: str, size: int) -> None:
    """Draw an accent above the letter with an index."""
    shown, raised = _ACCENTS[accent]
    letter = base[index]
    middle = text_width(base[:index], size) + _glyph(letter, size).advance // 2
    x = margin(size) + middle - text_width(shown, size) // 2
    up = raised + (_CAPITAL if letter.isupper() or letter in "bdfhklt" else 0)
    for char in shown:
        _stamp(mask, _glyph(char, size), x, ascent(size) - round(up * size))
        x += _glyph(char, size).advance


# Characters


def is_drawable(char: str) -> bool:
    """Whether the font has a character, or a similar one."""
    return _substitute(char) != _BOX


def _base(text: str) -> str:
    """The text in characters of the font, without accents."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_substitute, text))


@lru_cache(maxsize=4_096)
def _substitute(char: str) -> str:
    if " " <= char <= "~" or char in _SYMBOLS:
        return char
    if char in _LOOKALIKES:
        return _LOOKALIKES[char]
    if char.isspace():
        return " "
    category = unicodedata.category(char)
    if category in {"Mn", "Me", "Cf", "Cc"}:
        return ""
    if category == "Co":
        return _ICON_GLYPH
    base = unicodedata.normalize("NFKD", char)[0]
    return base if " " < base <= "~" else _BOX


def _accents(text: str) -> list[tuple[int, str]]:
    """The accents of a text, each with the index of its letter in the base text."""
    if text.isascii():
        return []
    found, index = [], 0
    for char in text:
        if char in _ACCENTS:
            found.append((max(0, index - 1), char))
            continue
        base = _substitute(char)
        marks = unicodedata.normalize("NFD", char)[1:] if len(base) == 1 else ""
        found += [(index, mark) for mark in marks if mark in _ACCENTS]
        index += len(base)
    return [(at, mark) for at, mark in found if at < index]


# Lines


class FittedLines(NamedTuple):
    """Lines of text, whether all of the text is in them, and whether all of its words are whole."""

    lines: list[str]
    fits: bool
    is_whole: bool


def fit_lines(text: str, size: int, width: int, most: int) -> FittedLines:
    """The text in at most so many lines of a width. A text that does not fit ends in an ellipsis."""
    visible = (most + 1) * _most_characters(size, width)
    shown, is_cut = text[:visible], len(text) > visible
    lines: list[str] = []
    is_whole = True
    for paragraph in shown.split("\n"):
        wrapped = _wrapped(paragraph, size, width)
        is_whole = is_whole and " ".join(wrapped) == paragraph
        lines += wrapped
        if len(lines) > most:
            rest = " ".join(lines[most - 1 :])
            return FittedLines([*lines[: most - 1], _with_ellipsis(rest, size, width)], False, is_whole)
    if is_cut or not _fits(lines[-1], size, width):
        lines[-1] = _with_ellipsis(lines[-1], size, width)
        return FittedLines(lines, False, is_whole)
    return FittedLines(lines, all(_fits(line, size, width) for line in lines), is_whole)


def _wrapped(text: str, size: int, width: int) -> list[str]:
    """Wrap a paragraph at its spaces, and words that are longer than a line inside them."""
    if _fits(text, size, width):
        return [text]
    lines, line = [], ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if _fits(longer, size, width):
            line = longer
            continue
        if line:
            lines.append(line)
        *broken, line = _broken(word, size, width)
        lines += broken
    return [*lines, line]


def _broken(word: str, size: int, width: int) -> list[str]:
    """A word in pieces that fit a line. A piece has at least one character."""
    pieces = []
    while len(word) > 1 and not _fits(word, size, width):
        count = max(1, _fitting(word, size, width))
        pieces.append(word[:count])
        word = word[count:]
    return [*pieces, word]


def _with_ellipsis(text: str, size: int, width: int) -> str:
    room = width - text_width(ELLIPSIS, size)
    return text[: _fitting(text, size, room)].rstrip() + ELLIPSIS


def _fits(text: str, size: int, width: int) -> bool:
    """Whether a line fits. A very long one is not measured: that would take seconds."""
    return len(text) <= _most_characters(size, width) and text_width(text, size) <= width


def _fitting(text: str, size: int, width: int) -> int:
    """How many characters from the start fit."""
    counts = range(1, min(len(text), _most_characters(size, max(0, width))) + 1)
    return bisect_right(
        counts, width, key=lambda count: sum([_glyph(char, size).advance for char in _base(text[:count])])
    )


def _most_characters(size: int, width: int) -> int:
    """No line of the width has more characters, unless they are invisible."""
    return round(width / (size * _NARROWEST)) + 2
