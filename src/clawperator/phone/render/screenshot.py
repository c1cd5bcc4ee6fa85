"""Screenshots: as PNG, and as ``screencap`` writes them without ``-p``.

The same screen gives the same bytes, in every process.
"""

import struct
from functools import lru_cache
from typing import TYPE_CHECKING

from clawperator.phone.render.png import PngPart, join_parts
from clawperator.phone.render.scene import Scene

if TYPE_CHECKING:
    from clawperator.phone.render.raster import Band

_RGBA_8888 = 1
_SRGB = 1


def png(scene: Scene) -> bytes:
    """The screen as PNG."""
    from clawperator.phone.render import painter, raster

    drawing = painter.paint(scene)
    return join_parts(drawing.width, drawing.height, map(_compressed, raster.bands(drawing)))


def raw_rgba(scene: Scene) -> bytes:
    """A header of four numbers, then four bytes per pixel."""
    header = struct.pack("<IIII", scene.display.width, scene.display.height, _RGBA_8888, _SRGB)
    from clawperator.phone.render import painter, raster

    return b"".join((header, *raster.pixels(painter.paint(scene))))


@lru_cache(maxsize=512)
def _compressed(band: "Band") -> PngPart:
    """The pixels of a band, compressed. Those of the last screens are kept: most of a screen was there before."""
    from clawperator.phone.render.raster import compress

    return compress(band)
