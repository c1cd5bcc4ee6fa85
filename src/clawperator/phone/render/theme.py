"""Colours of the screen, as ``0xRRGGBB``: a light and a dark theme."""

from zlib import crc32

from msgspec import Struct


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
