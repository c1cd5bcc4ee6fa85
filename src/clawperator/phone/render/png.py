"""PNG in the format of Android's screenshots: four bytes per pixel, fully opaque.

Most rows of a drawn screen equal the one above, and most other rows were on the screen before. So they are
compressed apart from the others, once, and the compressed parts are joined: that takes a third of the time of
compressing the whole picture.
"""

import struct
import zlib
from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct

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
