"""Canvas and PNG: valid files, correct colours, text inside its clip."""

import struct
import time
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.phone.render.canvas import Canvas, font_scale, text_height, text_masks, text_width
from clawperator.ui.node import Bounds

WHITE, BLACK, RED = 0xFFFFFF, 0x000000, 0xFF0000


def decode(png: bytes) -> list[list[int]]:
    """The colours of an opaque RGBA picture, row by row, decoded by the PNG specification."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    chunks, at = {}, 8
    while at < len(png):
        (size,) = struct.unpack_from(">I", png, at)
        kind, data = png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", png, at + 8 + size) == (zlib.crc32(kind + data),)
        chunks[kind] = data
        at += 12 + size
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    width, height, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert rest == [8, 6, 0, 0, 0]
    raw = zlib.decompress(chunks[b"IDAT"])
    stride = 4 * width + 1
    assert len(raw) == stride * height
    rows, above = [], bytes(4 * width)
    for start in range(0, len(raw), stride):
        line = raw[start + 1 : start + stride]
        assert raw[start] in (0, 2)
        above = bytes((a + b) & 0xFF for a, b in zip(line, above, strict=True)) if raw[start] else line
        assert set(above[3::4]) == {0xFF}
        rows.append([int.from_bytes(above[i : i + 3]) for i in range(0, len(above), 4)])
    return rows


def test_a_canvas_contains_filled_and_framed_rectangles() -> None:
    canvas = Canvas(4, 3)
    canvas.fill(Bounds(1, 1, 3, 2), RED)
    assert decode(canvas.encode()) == [
        [WHITE] * 4,
        [WHITE, RED, RED, WHITE],
        [WHITE] * 4,
    ]
    framed = Canvas(4, 3)
    framed.frame(Bounds(0, 0, 4, 3), BLACK, 1)
    assert decode(framed.encode())[1] == [BLACK, WHITE, WHITE, BLACK]


@pytest.mark.parametrize("height", [1, 2, 9, 10, 63, 64, 65, 66, 137])
def test_any_number_of_equal_rows_is_encoded(height: int) -> None:
    canvas = Canvas(3, height, RED)
    canvas.fill(Bounds(0, height // 2, 1, height // 2 + 1), BLACK)
    rows = decode(canvas.encode())
    assert rows == [[BLACK if y == height // 2 else RED, RED, RED] for y in range(height)]


@pytest.mark.random
@given(st.tuples(*[st.integers(-20, 20)] * 4))
def test_nothing_is_drawn_outside_a_rectangle(edges: tuple[int, int, int, int]) -> None:
    rect = Bounds(*edges)
    canvas = Canvas(9, 7)
    canvas.fill(rect, RED)
    canvas.frame(rect, RED)
    for y, row in enumerate(decode(canvas.encode())):
        assert [c == RED for c in row] == [rect.contains(x, y) for x in range(9)]


def test_text_is_drawn_over_its_background() -> None:
    canvas = Canvas(7, 9)
    canvas.fill(Bounds(0, 3, 7, 9), RED)
    canvas.text(1, 0, "T", 10, BLACK)
    rows = decode(canvas.encode())
    assert rows[0] == [WHITE] + [BLACK] * 5 + [WHITE]
    assert rows[1] == [WHITE] * 3 + [BLACK] + [WHITE] * 3
    assert rows[5] == [RED] * 3 + [BLACK] + [RED] * 3


@pytest.mark.random
@given(st.text(max_size=12), st.integers(-30, 60), st.integers(-30, 60), st.integers(1, 40))
def test_text_never_leaves_its_clip(text: str, x: int, y: int, size: int) -> None:
    clip = Bounds(5, 4, 30, 20)
    canvas = Canvas(40, 24)
    canvas.text(x, y, text, size, BLACK, clip)
    for row, colours in enumerate(decode(canvas.encode())):
        assert all(clip.contains(column, row) for column, c in enumerate(colours) if c == BLACK)


def test_every_printable_character_looks_different() -> None:
    shapes = {c: tuple(text_masks(c, 1)) for c in map(chr, range(ord(" "), ord("~") + 1))}
    assert len(set(shapes.values())) == len(shapes)
    assert not any(any(row) for row in shapes[" "])


@pytest.mark.parametrize(
    ("text", "same"),
    [("Überprüfung", "Uberprufung"), ("a\u2013b\u2026", "a-b..."), ("e\u0301\u200b", "e"), ("x\ty", "x y")],
)
def test_a_character_missing_from_the_font_is_drawn_as_its_substitute(text: str, same: str) -> None:
    assert text_masks(text, 2) == text_masks(same, 2)


def test_an_unknown_character_is_drawn_as_a_square() -> None:
    assert text_masks("日", 1) == text_masks("😀", 1) != text_masks("?", 1)


@pytest.mark.random
@given(st.text(max_size=30), st.integers(1, 100))
def test_the_width_of_a_text_equals_its_drawn_width(text: str, size: int) -> None:
    rows = text_masks(text, font_scale(size))
    assert {len(row) for row in rows} == {text_width(text, size)}
    assert len(rows) * font_scale(size) == text_height(size)


def test_colours_beyond_the_limit_are_drawn_as_the_nearest() -> None:
    canvas = Canvas(300, 1)
    for x in range(300):
        canvas.fill(Bounds(x, 0, x + 1, 1), x)
    (row,) = decode(canvas.encode())
    assert row[:255] == list(range(255))
    assert set(row[255:]) <= set(range(256))


def test_the_pixels_of_a_canvas_have_four_bytes() -> None:
    canvas = Canvas(2, 1)
    canvas.fill(Bounds(1, 0, 2, 1), 0x123456)
    assert canvas.rgba() == b"\xff\xff\xff\xff\x12\x34\x56\xff"


@pytest.mark.parametrize(("width", "height"), [(0, 1), (1, 0), (-1, 5), (100_000, 1)])
def test_an_invalid_size_is_refused(width: int, height: int) -> None:
    with pytest.raises(ValueError):
        Canvas(width, height)


def test_a_whole_screen_is_drawn_in_less_time_than_it_takes_to_count_its_pixels() -> None:
    def draw() -> bytes:
        canvas = Canvas(1080, 2400, 0xF5F5F7)
        for i in range(100):
            box = Bounds(20 + i, 20 * i, 1000, 20 * i + 90)
            canvas.fill(box, WHITE)
            canvas.frame(box, RED)
            canvas.text(40 + i, 20 * i + 10, "Notifications and sound", 42, BLACK, box)
        return canvas.encode()

    def count_pixels() -> int:
        counted = 0
        for _ in range(1080 * 2400):
            counted += 1
        return counted

    def seconds(work: Callable[[], object]) -> float:
        begun = time.process_time()
        work()
        return time.process_time() - begun

    draw()
    assert min(seconds(draw) for _ in range(3)) < min(seconds(count_pixels) for _ in range(3))
