"""From a drawing to pixels and PNG: band by band, with Pillow.

A band is a part of the picture from its left to its right edge that no shape crosses. Lists consist of bands that
look the same wherever they are scrolled to.
"""

import struct
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from clawperator.phone.render.drawing import Drawing, Fill, Operation, ShapeKey, Stamp
from clawperator.phone.render.fonts import text_mask
from clawperator.phone.render.icons import icon_mask

if TYPE_CHECKING:
    from PIL.Image import Image

# PNG in the format of Android's screenshots: four bytes per pixel, fully opaque
#
# Most rows of a drawn screen equal the one above, and most other rows were on the screen before. So they are
# compressed apart from the others, once, and the compressed parts are joined: that takes a third of the time of
# compressing the whole picture.

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_RGBA = 6
_MAX_COLOURS = 256
# Filters of PNG: the bytes themselves, and the difference from the row above.
_PLAIN, _FROM_ABOVE = b"\0", b"\2"
# How many equal rows are compressed together.
_RUNS = (64, 8, 1)
# The window and the memory to compress different rows together.
_FOR_MANY_ROWS = (-15, 8)
_ZLIB_HEADER = b"\x78\x01"
_LAST_BLOCK = b"\x03\x00"
_ADLER_BASE = 65_521


class PngPart(Struct, frozen=True):
    """A part of a compressed stream that can be joined to others: its bytes, and its checksum and size before."""

    data: bytes
    adler: int
    size: int


def compress_rows(width: int, rows: Iterable[bytes], shades: bytes | None = None) -> PngPart:
    """Rows of four bytes per pixel, compressed; with ``shade_tables``, rows of one byte per pixel.

    The first row does not depend on a row above it.
    """
    parts: list[PngPart] = []
    new: list[bytes] = []
    above, equal = b"", 0
    for row in rows:
        if row == above:
            if new:
                parts.append(_different(new, width, shades))
                new = []
            equal += 1
            continue
        if equal:
            parts += _repeated(width, equal)
            equal = 0
        new.append(row)
        above = row
    if new:
        parts.append(_different(new, width, shades))
    return _one_part([*parts, *_repeated(width, equal)])


def _different(rows: list[bytes], width: int, shades: bytes | None) -> PngPart:
    """Rows that differ, compressed together."""
    if shades is not None:
        pixels = bytes(rgba(b"".join(rows), shades))
        rows = [pixels[at : at + 4 * width] for at in range(0, len(pixels), 4 * width)]
    return _compressed(_PLAIN + _PLAIN.join(rows), *_FOR_MANY_ROWS)


def _one_part(parts: list[PngPart]) -> PngPart:
    adler, size = 1, 0
    for part in parts:
        adler = _combined(adler, part)
        size += part.size
    return PngPart(b"".join([part.data for part in parts]), adler, size)


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


def shade_tables(palette: list[int]) -> bytes:
    """Three tables of 256 bytes: from the index of a colour to its red, its green and its blue."""
    return b"".join(
        bytes(colour >> shift & 0xFF for colour in palette).ljust(_MAX_COLOURS, b"\0") for shift in (16, 8, 0)
    )


def rgba(pixels: bytes, shades: bytes) -> bytearray:
    """Four bytes per pixel, of the colours in ``shade_tables``."""
    out = bytearray(b"\xff") * (4 * len(pixels))
    for channel in range(3):
        out[channel::4] = pixels.translate(shades[channel * _MAX_COLOURS : (channel + 1) * _MAX_COLOURS])
    return out


def _repeated(width: int, count: int) -> list[PngPart]:
    """The row above, again, so many times."""
    parts = []
    for run in _RUNS:
        parts += [_same_rows(width, run)] * (count // run)
        count %= run
    return parts


@lru_cache(maxsize=64)
def _same_rows(width: int, count: int) -> PngPart:
    return _compressed((_FROM_ABOVE + bytes(4 * width)) * count)


def _compressed(data: bytes, window_bits: int = -12, memory: int = 4) -> PngPart:
    # A full flush ends on a whole byte, and no part refers to one before it.
    compressor = zlib.compressobj(1, zlib.DEFLATED, window_bits, memory)
    compressed = compressor.compress(data) + compressor.flush(zlib.Z_FULL_FLUSH)
    return PngPart(compressed, zlib.adler32(data), len(data))


def _combined(adler: int, part: PngPart) -> int:
    """The checksum of the data so far, and of a part after it."""
    low, high = adler & 0xFFFF, adler >> 16
    part_low, part_high = part.adler & 0xFFFF, part.adler >> 16
    high += part_high + part.size * (low - 1)
    return (high % _ADLER_BASE) << 16 | (low + part_low - 1) % _ADLER_BASE


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


# Bands

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
    part = operation._replace(top=max(operation.top, top) - top, bottom=min(operation.bottom, bottom) - top)
    return part._replace(y=part.y - top) if isinstance(part, Stamp) else part


@lru_cache(maxsize=512)
def compress(band: Band) -> PngPart:
    """The pixels of a band, compressed. Those of the last screens are kept: most of a screen was there before.

    Most bands have one ink on one background, which takes half of the time.
    """
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
    overlap = any(before.right > after.left for before, after in pairwise(sorted(stamps)))
    if len({op.colour for op in stamps}) > 1 or overlap:
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
    return tuple(small.crop((x, y, x + radius, y + radius)) for y in (0, radius) for x in (0, radius))
