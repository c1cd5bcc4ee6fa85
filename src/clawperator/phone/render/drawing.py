"""A drawing: the shapes of a picture in the order in which they are drawn, as plain data.

It holds what is drawn where; ``raster`` makes the pixels. Parts of a drawing that were made before need no pixels,
so that most screenshots take little more than the time to describe them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple, TypeAlias
from zlib import crc32

from msgspec import Struct

from clawperator.phone.render.fonts import ascent, margin, mask_size
from clawperator.ui.node import Bounds

# Colours, as ``0xRRGGBB``: a light and a dark theme


class Theme(Struct, frozen=True):
    """The colours of one theme. A colour ``on_...`` is that of texts and icons on the other one."""

    page: int = 0xFFFFFF
    bar: int = 0xF0F4F9
    raised: int = 0xE9EEF6  # dialogs, cards, text fields
    ink: int = 0x1F1F1F
    muted: int = 0x444746
    hint: int = 0x747775
    line: int = 0xDCE0E5
    outline: int = 0x747775
    accent: int = 0x0B57D0
    on_accent: int = 0xFFFFFF
    chosen: int = 0xD3E3FD  # the background of what is selected
    on_chosen: int = 0x041E49
    danger: int = 0xB3261E
    on_danger: int = 0xFFFFFF
    disabled: int = 0xE3E3E5
    on_disabled: int = 0x9A9B9C
    board: int = 0xE6E9EF  # the keyboard
    key: int = 0xFFFFFF
    special_key: int = 0xCDD5E4
    toast: int = 0x303134
    on_toast: int = 0xF2F2F2
    wallpaper: tuple[int, int] = (0x1B3A6B, 0xA9536A)
    on_wallpaper: int = 0xFFFFFF


LIGHT = Theme()
DARK = Theme(
    page=0x131314,
    bar=0x1E1F20,
    raised=0x282A2C,
    ink=0xE3E3E3,
    muted=0xC4C7C5,
    hint=0x8E918F,
    line=0x303134,
    outline=0x8E918F,
    accent=0xA8C7FA,
    on_accent=0x062E6F,
    chosen=0x0842A0,
    on_chosen=0xD3E3FD,
    danger=0xF2B8B5,
    on_danger=0x601410,
    disabled=0x2A2B2C,
    on_disabled=0x6C6D6E,
    board=0x1E1F20,
    key=0x37393B,
    special_key=0x4A4D51,
    toast=0xE3E3E3,
    on_toast=0x1F1F1F,
    wallpaper=(0x101B33, 0x3A2A4F),
)

# Views that are dark in both themes, such as a video.
VIDEO, ON_VIDEO = 0x0F0F0F, 0xF1F1F1

# For icons and pictures of things that have no colour of their own.
_COLOURS = (0x1A73E8, 0xC5221F, 0x188038, 0xB06000, 0x8430CE, 0x007B83, 0xA50E0E, 0x3C4043, 0x9C27B0, 0x00695C)


def colour_of(name: str) -> int:
    """A colour for a name: the same one each time."""
    return _COLOURS[crc32(name.encode("utf-8", "surrogatepass")) % len(_COLOURS)]


def mix(first: int, second: int, part: float) -> int:
    """A colour between two: 0 is the first, 1 the second."""
    channels = ((first >> shift & 0xFF, second >> shift & 0xFF, shift) for shift in (16, 8, 0))
    return sum(round(a + (b - a) * part) << shift for a, b, shift in channels)


# Shapes

_MAX_RADIUS = 1_024

# What a stamp shows: "text" with its characters and size; "icon" with its name and side; or "corner" with radius,
# thickness and number: one of the four corners of a ring, or of a disc where radius and thickness are equal.
ShapeKey: TypeAlias = tuple[str | int, ...]


class Fill(NamedTuple):
    """A rectangle of one colour."""

    left: int
    top: int
    right: int
    bottom: int
    colour: int


class Stamp(NamedTuple):
    """A shape in one colour with its upper left corner at a point. The rectangle is its visible part."""

    left: int
    top: int
    right: int
    bottom: int
    colour: int
    key: ShapeKey
    x: int
    y: int


Operation: TypeAlias = Fill | Stamp


class Drawing:
    """Collects the operations. A colour is ``0xRRGGBB``; nothing is drawn outside ``clip``."""

    def __init__(self, width: int, height: int, background: int) -> None:
        self.width = width
        self.height = height
        self.clip = Bounds(0, 0, width, height)
        self.operations: list[Operation] = [Fill(0, 0, width, height, background)]

    @contextmanager
    def clipped(self, area: Bounds) -> Iterator[None]:
        """Draw only inside an area, and inside the clip so far."""
        before = self.clip
        self.clip = before.intersection(area)
        try:
            yield
        finally:
            self.clip = before

    def fill(self, area: Bounds, colour: int) -> None:
        self._fill(*area, colour)

    def _fill(self, left: int, top: int, right: int, bottom: int, colour: int) -> None:
        shown = Bounds(left, top, right, bottom).intersection(self.clip)
        if not shown.is_empty:
            self.operations.append(Fill(*shown, colour))

    def gradient(self, area: Bounds, first: int, last: int) -> None:
        """Fill an area with colours from one at the top to another at the bottom."""
        for top, bottom, colour in _steps(area.height, first, last):
            self._fill(area.left, area.top + top, area.right, area.top + bottom, colour)

    def dim(self, colour: int, part: float) -> None:
        """Mix everything that is drawn so far with a colour."""
        self.operations = [op._replace(colour=mix(op.colour, colour, part)) for op in self.operations]

    def rounded(self, area: Bounds, radius: int, colour: int) -> None:
        """Fill a rectangle with round corners."""
        radius = _radius(area, radius)
        left, top, right, bottom = area
        if radius:
            self._corners(area, radius, radius, colour)
            self._fill(left + radius, top, right - radius, top + radius, colour)
            self._fill(left + radius, bottom - radius, right - radius, bottom, colour)
        self._fill(left, top + radius, right, bottom - radius, colour)

    def outline(self, area: Bounds, radius: int, thickness: int, colour: int) -> None:
        """Draw the inner edge of a rectangle with round corners."""
        radius = _radius(area, radius)
        thickness = max(1, min(thickness, area.width // 2, area.height // 2))
        left, top, right, bottom = area
        if radius:
            self._corners(area, radius, min(thickness, radius), colour)
        self._fill(left + radius, top, right - radius, top + thickness, colour)
        self._fill(left + radius, bottom - thickness, right - radius, bottom, colour)
        self._fill(left, top + radius, left + thickness, bottom - radius, colour)
        self._fill(right - thickness, top + radius, right, bottom - radius, colour)

    def disc(self, x: int, y: int, radius: int, colour: int) -> None:
        """Fill a circle around a point."""
        self.rounded(Bounds(x - radius, y - radius, x + radius, y + radius), radius, colour)

    def icon(self, name: str, x: int, y: int, side: int, colour: int) -> None:
        """Draw an icon in a square around a point."""
        if side > 0:
            self._stamp(("icon", name, side), x - side // 2, y - side // 2, side, side, colour)

    def text(self, x: int, baseline: int, text: str, size: int, colour: int) -> None:
        """Draw a line of text that starts at ``x``."""
        if text and not text.isspace():
            width, height = mask_size(text, size)
            self._stamp(("text", text, size), x - margin(size), baseline - ascent(size), width, height, colour)

    def _corners(self, area: Bounds, radius: int, thickness: int, colour: int) -> None:
        right, bottom = area.right - radius, area.bottom - radius
        places = ((area.left, area.top), (right, area.top), (area.left, bottom), (right, bottom))
        for number, (x, y) in enumerate(places):
            self._stamp(("corner", radius, thickness, number), x, y, radius, radius, colour)

    def _stamp(self, key: ShapeKey, x: int, y: int, width: int, height: int, colour: int) -> None:  # noqa: PLR0913, PLR0917 - a shape and its place
        shown = Bounds(x, y, x + width, y + height).intersection(self.clip)
        if not shown.is_empty:
            self.operations.append(Stamp(*shown, colour, key, x, y))


@lru_cache(maxsize=4)
def _steps(height: int, first: int, last: int) -> list[tuple[int, int, int]]:
    """A gradient as rows of one colour: their top, their bottom, and the colour."""
    steps = []
    colours = groupby(range(height), lambda y: mix(first, last, y / max(1, height - 1)))
    for colour, rows in colours:
        found = list(rows)
        steps.append((found[0], found[-1] + 1, colour))
    return steps


def _radius(area: Bounds, radius: int) -> int:
    return max(0, min(radius, area.width // 2, area.height // 2, _MAX_RADIUS))
