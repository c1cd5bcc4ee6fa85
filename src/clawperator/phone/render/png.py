"""Pictures of the screen: flat colours, frames and text, written as PNG.

A pixel is one byte, the number of a colour. That is all a drawn screen needs, and it keeps a picture of a
whole phone within milliseconds.
"""

import struct
import zlib

from clawperator.phone.render import font
from clawperator.ui.node import Bounds

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_MAX_SIDE = 8_192
_MAX_COLOURS = 256
# Nobody can read more in one line of a picture.
_MAX_TEXT = 1_000
_RGBA_8888 = 1
_SRGB = 1


class Canvas:
    """A picture being drawn. A colour is ``0xRRGGBB``; what lies outside the picture is not drawn.

    A picture has at most 256 colours: one more is drawn as the nearest of those.
    """

    def __init__(self, width: int, height: int, background: int = 0xFFFFFF) -> None:
        if not (0 < width <= _MAX_SIDE and 0 < height <= _MAX_SIDE):
            raise ValueError(f"no picture is {width} by {height}")
        self.width = width
        self.height = height
        self._numbers = {background: 0}
        # A byte stands before each row: PNG's filter, which is none.
        self._stride = width + 1
        self._pixels = bytearray(self._stride * height)

    @property
    def bounds(self) -> Bounds:
        return Bounds(0, 0, self.width, self.height)

    def fill(self, rect: Bounds, colour: int) -> None:
        """Paint a rectangle."""
        rect = rect.intersection(self.bounds)
        if rect.is_empty:
            return
        run = bytes([self._number(colour)]) * rect.width
        pixels, stride = self._pixels, self._stride
        first = rect.top * stride + 1 + rect.left
        for start in range(first, first + rect.height * stride, stride):
            pixels[start : start + rect.width] = run

    def frame(self, rect: Bounds, colour: int, thickness: int = 2) -> None:
        """Paint the edge of a rectangle, inwards."""
        left, top, right, bottom = rect.left, rect.top, rect.right, rect.bottom
        thickness = min(thickness, rect.width, rect.height)
        self.fill(Bounds(left, top, right, top + thickness), colour)
        self.fill(Bounds(left, bottom - thickness, right, bottom), colour)
        self.fill(Bounds(left, top, left + thickness, bottom), colour)
        self.fill(Bounds(right - thickness, top, right, bottom), colour)

    def text(  # noqa: PLR0913, PLR0917 - what a line of text is made of
        self, x: int, y: int, string: str, size: int, colour: int, clip: Bounds | None = None
    ) -> None:
        """Write a line whose capitals begin at ``y``. Nothing is drawn outside ``clip``."""
        clip = self.bounds if clip is None else clip.intersection(self.bounds)
        factor = font.scale(size)
        rows = font.masks(string[:_MAX_TEXT], factor)
        left, right = max(x, clip.left), min(x + len(rows[0]), clip.right)
        if left >= right:
            return
        ink = int.from_bytes(bytes([self._number(colour)]) * (right - left))
        for row, mask in enumerate(rows):
            shape = int.from_bytes(mask[left - x : right - x])
            if shape:
                top = y + row * factor
                for line in range(max(top, clip.top), min(top + factor, clip.bottom)):
                    self._ink(line, left, right, shape, ink)

    def _ink(self, line: int, left: int, right: int, shape: int, ink: int) -> None:
        start = line * self._stride + 1
        part = slice(start + left, start + right)
        under = int.from_bytes(self._pixels[part])
        self._pixels[part] = (under ^ ((under ^ ink) & shape)).to_bytes(right - left)

    def _number(self, colour: int) -> int:
        numbers = self._numbers
        if colour not in numbers:
            if len(numbers) == _MAX_COLOURS:
                return numbers[min(numbers, key=lambda known: _distance(known, colour))]
            numbers[colour] = len(numbers)
        return numbers[colour]

    def encode(self) -> bytes:
        """The picture as PNG."""
        header = struct.pack(">IIBBBBB", self.width, self.height, 8, 3, 0, 0, 0)
        palette = b"".join(colour.to_bytes(3) for colour in self.palette())
        return b"".join(
            (
                _SIGNATURE,
                _chunk(b"IHDR", header),
                _chunk(b"PLTE", palette),
                _chunk(b"IDAT", zlib.compress(self._pixels, 1)),
                _chunk(b"IEND", b""),
            )
        )

    def pixels(self) -> bytes:
        """The numbers of the colours, row after row."""
        stride = self._stride
        return b"".join([self._pixels[at + 1 : at + stride] for at in range(0, len(self._pixels), stride)])

    def palette(self) -> list[int]:
        """The colours, by their numbers."""
        return list(self._numbers)


def raw_rgba(canvas: Canvas) -> bytes:
    """A picture as ``screencap`` writes it without ``-p``: four numbers, then four bytes a pixel."""
    pixels = canvas.pixels()
    out = bytearray(b"\xff") * (4 * len(pixels))
    for channel in range(3):
        shades = bytes(colour >> (16 - 8 * channel) & 0xFF for colour in canvas.palette())
        out[channel::4] = pixels.translate(shades.ljust(_MAX_COLOURS, b"\0"))
    return struct.pack("<IIII", canvas.width, canvas.height, _RGBA_8888, _SRGB) + out


def _distance(a: int, b: int) -> int:
    return sum(((a >> shift & 0xFF) - (b >> shift & 0xFF)) ** 2 for shift in (0, 8, 16))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
