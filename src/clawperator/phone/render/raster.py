"""From a drawing to pixels and PNG: band by band, with Pillow.

A band is a part of the picture from its left to its right edge that no shape crosses. Lists consist of bands that
look the same wherever they are scrolled to.
"""

import struct
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from clawperator.phone.render.drawing import Drawing, Fill, Operation, ShapeKey, Stamp
from clawperator.phone.render.fonts import text_mask
from clawperator.phone.render.icons import icon_mask

if TYPE_CHECKING:
    from PIL.Image import Image

# Bands

_SMOOTH = 4
_OPAQUE = 0xFF
# A band without shapes is no higher, so that its pixels stay small.
_MAX_PLAIN_ROWS = 512


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
    edges, bottom = list[int](), 0
    for top, low in [*spans, (drawing.height, drawing.height)]:
        if top >= bottom:
            edges += [*range(bottom, top, _MAX_PLAIN_ROWS), top]  # first those of bands without shapes
        bottom = max(bottom, low)
    return edges


def _moved(operation: Operation, top: int, bottom: int) -> Operation:
    """The part of an operation in a band, relative to its top."""
    part = operation._replace(top=max(operation.top, top) - top, bottom=min(operation.bottom, bottom) - top)
    return part._replace(y=part.y - top) if isinstance(part, Stamp) else part


def _visible_mask(stamp: Stamp) -> "Image":
    left, top, right, bottom = stamp[:4]
    return _mask(stamp.key).crop((left - stamp.x, top - stamp.y, right - stamp.x, bottom - stamp.y))


def rasterise(band: Band) -> bytes:
    """The pixels of a band as RGBA, row by row."""
    from PIL import Image

    image = Image.new("RGBA", (band.width, band.height))
    for operation in band.operations:
        colour = operation.colour
        mask = None if isinstance(operation, Fill) else _visible_mask(operation)
        image.paste((colour >> 16 & 0xFF, colour >> 8 & 0xFF, colour & 0xFF, _OPAQUE), operation[:4], mask)
    return image.tobytes()


def pixels(drawing: Drawing) -> Iterator[bytes]:
    """The whole picture as RGBA, some rows at a time."""
    return map(rasterise, bands(drawing))


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
    return tuple(small.crop((x, y, x + radius, y + radius)) for y in (0, radius) for x in (0, radius))


# PNG in the format of Android's screenshots: four bytes per pixel, fully opaque
#
# Each band is compressed by itself, and kept: most of a screen was on the screen before. The parts are joined.

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_RGBA = 6
# Filters of PNG: the bytes themselves, and the difference from the row above.
_PLAIN, _FROM_ABOVE = b"\0", b"\2"
_ZLIB_HEADER = b"\x78\x01"
_LAST_BLOCK = b"\x03\x00"
_ADLER_BASE = 65_521


class PngPart(Struct, frozen=True):
    """A part of a compressed stream that can be joined to others: its bytes, and its checksum and size before."""

    data: bytes
    adler: int
    size: int


@lru_cache(maxsize=512)
def compress(band: Band) -> PngPart:
    """The pixels of a band, compressed. The first row does not depend on a row above it."""
    pixels, stride = rasterise(band), 4 * band.width
    rows, above = [], b""
    for at in range(0, len(pixels), stride):
        row = pixels[at : at + stride]
        rows.append(_FROM_ABOVE + bytes(stride) if row == above else _PLAIN + row)
        above = row
    data = b"".join(rows)
    # A full flush ends on a whole byte, and no part refers to one before it.
    compressor = zlib.compressobj(1, zlib.DEFLATED, -15)
    compressed = compressor.compress(data) + compressor.flush(zlib.Z_FULL_FLUSH)
    return PngPart(compressed, zlib.adler32(data), len(data))


def join_parts(width: int, height: int, parts: Iterable[PngPart]) -> bytes:
    """The PNG made of compressed parts, from the top to the bottom."""
    data, adler = [_ZLIB_HEADER], 1
    for part in parts:
        data.append(part.data)
        adler = _combined(adler, part)
    data += [_LAST_BLOCK, struct.pack(">I", adler)]
    header = struct.pack(">IIBBBBB", width, height, 8, _RGBA, 0, 0, 0)
    chunks = (b"IHDR", header), (b"IDAT", b"".join(data)), (b"IEND", b"")
    return _SIGNATURE + b"".join(_chunk(kind, content) for kind, content in chunks)


def _combined(adler: int, part: PngPart) -> int:
    """The checksum of the data so far, and of a part after it."""
    low, high = adler & 0xFFFF, adler >> 16
    part_low, part_high = part.adler & 0xFFFF, part.adler >> 16
    high += part_high + part.size * (low - 1)
    return (high % _ADLER_BASE) << 16 | (low + part_low - 1) % _ADLER_BASE


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
