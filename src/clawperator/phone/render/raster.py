"""From a drawing to pixels: band by band, with Pillow.

A band is a part of the picture from its left to its right edge that no shape crosses. Lists consist of bands that
look the same wherever they are scrolled to.
"""

from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from clawperator.phone.render.drawing import Drawing, Fill, Operation, ShapeKey, Stamp
from clawperator.phone.render.fonts import text_mask
from clawperator.phone.render.icons import icon_mask
from clawperator.phone.render.png import PngPart, compress_rows, shade_tables

if TYPE_CHECKING:
    from PIL.Image import Image

_SMOOTH = 4
_OPAQUE = 0xFF
# A band without shapes is no higher, so that its pixels stay small.
_MAX_PLAIN_ROWS = 512
_MAX_FILLS = 256


class Band(NamedTuple):
    """A part of a drawing, with its operations relative to its top. Equal bands have equal pixels."""

    width: int
    height: int
    operations: tuple[Operation, ...]


def bands(drawing: Drawing) -> list[Band]:
    """Divide a drawing into bands, from the top to the bottom."""
    edges = _edges(drawing)
    parts: list[list[Operation]] = [[] for _ in edges[1:]]
    for operation in drawing.operations:
        first = bisect_right(edges, operation.top) - 1
        last = bisect_right(edges, operation.bottom - 1) - 1
        for number in range(first, last + 1):
            parts[number].append(_moved(operation, edges[number], edges[number + 1]))
    return [
        Band(drawing.width, edges[number + 1] - edges[number], tuple(operations))
        for number, operations in enumerate(parts)
    ]


def _edges(drawing: Drawing) -> list[int]:
    """The tops of the bands, and the bottom of the last one."""
    spans = sorted((op.top, op.bottom) for op in drawing.operations if isinstance(op, Stamp))
    edges, bottom = [0], 0
    for top, low in spans:
        if top > bottom:
            edges += _split(bottom, top)
            edges.append(top)
        elif top == bottom and top > edges[-1]:
            edges.append(top)
        bottom = max(bottom, low)
    if bottom < drawing.height:
        edges += _split(bottom, drawing.height)
    return [*dict.fromkeys(edges), drawing.height] if edges[-1] != drawing.height else edges


def _split(top: int, bottom: int) -> list[int]:
    """The tops of bands without shapes."""
    return list(range(top, bottom, _MAX_PLAIN_ROWS))


def _moved(operation: Operation, top: int, bottom: int) -> Operation:
    """The part of an operation in a band, relative to its top."""
    first, last = max(operation.top, top) - top, min(operation.bottom, bottom) - top
    if isinstance(operation, Stamp):
        left, _, right, _, colour, key, x, y = operation
        return Stamp(left, first, right, last, colour, key, x, y - top)
    return Fill(operation.left, first, operation.right, last, operation.colour)


def compress(band: Band) -> PngPart:
    """The pixels of a band, compressed. Most have one ink on one background, which takes half of the time."""
    found = indexed(band)
    if found is not None:
        return compress_rows(band.width, _rows(found[0], band.width), found[1])
    return compress_rows(band.width, _rows(rasterise(band), 4 * band.width))


def _rows(pixels: bytes, stride: int) -> Iterator[bytes]:
    return (pixels[at : at + stride] for at in range(0, len(pixels), stride))


def indexed(band: Band) -> tuple[bytes, bytes] | None:
    """A band with one byte per pixel, and the tables of its shades. None when it has too many colours."""
    fills = [op for op in band.operations if isinstance(op, Fill)]
    stamps = [op for op in band.operations if isinstance(op, Stamp)]
    if any(op.right - op.left != band.width for op in fills):
        return None
    if not stamps:
        return _indexed_rows(band, fills) if len(fills) <= _MAX_FILLS else None
    if len({op.colour for op in stamps}) > 1 or _overlap(stamps):
        return None
    # All fills are below the stamps, and the last one covers the band: it is the background.
    if band.operations[len(fills) - 1] is not fills[-1] or fills[-1].bottom - fills[-1].top != band.height:
        return None
    return _coverage(band, stamps), _ramp(fills[-1].colour, stamps[0].colour)


def _indexed_rows(band: Band, fills: list[Fill]) -> tuple[bytes, bytes]:
    """Rows of one colour each."""
    rows = [0] * band.height
    for number, fill in enumerate(fills):
        rows[fill.top : fill.bottom] = [number] * (fill.bottom - fill.top)
    pixels = b"".join(bytes([number]) * band.width for number in rows)
    return pixels, shade_tables([fill.colour for fill in fills])


def _overlap(stamps: list[Stamp]) -> bool:
    return any(before.right > after.left for before, after in pairwise(sorted(stamps)))


def _coverage(band: Band, stamps: list[Stamp]) -> bytes:
    """How much of each pixel is covered by the ink, in 255ths."""
    from PIL import Image

    image = Image.new("L", (band.width, band.height))
    for stamp in stamps:
        image.paste(_visible_mask(stamp), stamp[:4])
    return image.tobytes()


@lru_cache(maxsize=64)
def _ramp(background: int, ink: int) -> bytes:
    """The shades from the background to the ink, as Pillow mixes them."""
    shades = []
    for part in range(256):
        mixed = 0
        for shift in (16, 8, 0):
            weighed = (background >> shift & 0xFF) * (255 - part) + (ink >> shift & 0xFF) * part + 128
            mixed |= ((weighed >> 8) + weighed >> 8) << shift
        shades.append(mixed)
    return shade_tables(shades)


def _visible_mask(stamp: Stamp) -> "Image":
    mask, x, y = _mask(stamp.key), stamp.x, stamp.y
    left, top, right, bottom = stamp[:4]
    if (x, y, x + mask.width, y + mask.height) == (left, top, right, bottom):
        return mask
    return mask.crop((left - x, top - y, right - x, bottom - y))


def rasterise(band: Band) -> bytes:
    """The pixels of a band as RGBA, row by row."""
    from PIL import Image

    image = Image.new("RGBA", (band.width, band.height))
    for operation in band.operations:
        box = operation[:4]
        if isinstance(operation, Fill):
            image.paste(_rgba(operation.colour), box)
        else:
            image.paste(_rgba(operation.colour), box, _visible_mask(operation))
    return image.tobytes()


def pixels(drawing: Drawing) -> Iterator[bytes]:
    """The whole picture as RGBA, some rows at a time."""
    return map(rasterise, bands(drawing))


def _rgba(colour: int) -> tuple[int, int, int, int]:
    return colour >> 16 & 0xFF, colour >> 8 & 0xFF, colour & 0xFF, _OPAQUE


def _mask(key: ShapeKey) -> "Image":
    match key:
        case ("text", str(text), int(size)):
            return text_mask(text, size)
        case ("icon", str(name), int(side)):
            return icon_mask(name, side)
        case (_, int(radius), int(thickness), int(number)):
            return _corners(radius, thickness)[number]
        case _:
            raise ValueError(f"unknown shape {key}")


@lru_cache(maxsize=48)
def _corners(radius: int, thickness: int) -> "tuple[Image, ...]":
    """The corners of a ring: of a disc when the thickness is the radius."""
    from PIL import Image, ImageDraw

    side = 2 * radius * _SMOOTH
    circle = Image.new("L", (side, side))
    draw = ImageDraw.Draw(circle)
    draw.ellipse((0, 0, side - 1, side - 1), fill=255)
    if thickness < radius:
        inset = thickness * _SMOOTH
        draw.ellipse((inset, inset, side - 1 - inset, side - 1 - inset), fill=0)
    small = circle.reduce(_SMOOTH)
    right, bottom = 2 * radius, 2 * radius
    return (
        small.crop((0, 0, radius, radius)),
        small.crop((radius, 0, right, radius)),
        small.crop((0, radius, radius, bottom)),
        small.crop((radius, radius, right, bottom)),
    )
