"""Draw the pictures of the simulated phone in docs/pictures: all of its screens on one sheet, and Settings."""

import os
import sys
from io import BytesIO
from typing import TYPE_CHECKING

from clawperator.testing import simulated_phone
from tests.support.declared_screens import visit_declared_screens

if TYPE_CHECKING:
    from PIL.Image import Image

_FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "docs", "pictures")
_COLUMNS = 13
_WIDTH, _HEIGHT = 198, 440
_GAP = 8
_COLOURS = 256
_BACKGROUND = (128, 132, 140)


def main() -> int:
    screens, settings = _draw_screens()
    _save(_sheet(screens), "screens.png")
    _save(settings, "settings.png")
    return 0


def _draw_screens() -> "tuple[list[Image], Image]":
    """Every screen of the phone in the size of the sheet, and Settings in full size."""
    from PIL import Image

    screens, settings = [], None
    with simulated_phone() as phone:
        for screen in visit_declared_screens(phone):
            with Image.open(BytesIO(phone.png())) as opened:
                picture = opened.convert("RGB")
            if (screen.app, screen.screen, screen.state) == ("com.android.settings", "home", ""):
                settings = picture
            if picture.width > picture.height:
                continue  # a turned phone would be too small to see
            screens.append(picture.resize((_WIDTH, _HEIGHT), Image.Resampling.LANCZOS))
    assert settings is not None
    return screens, settings


def _sheet(screens: "list[Image]") -> "Image":
    from PIL import Image

    rows = -(-len(screens) // _COLUMNS)
    size = _COLUMNS * (_WIDTH + _GAP) + _GAP, rows * (_HEIGHT + _GAP) + _GAP
    sheet = Image.new("RGB", size, _BACKGROUND)
    for number, screen in enumerate(screens):
        row, column = divmod(number, _COLUMNS)
        sheet.paste(screen, (_GAP + column * (_WIDTH + _GAP), _GAP + row * (_HEIGHT + _GAP)))
    return sheet


def _save(picture: "Image", name: str) -> None:
    """Save a picture with few colours, which halves its size."""
    from PIL import Image

    path = os.path.join(_FOLDER, name)
    picture.quantize(_COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"docs/pictures/{name}: {picture.width} x {picture.height}, {os.path.getsize(path) // 1000} kB")


if __name__ == "__main__":
    sys.exit(main())
