"""Bands of a drawing: together they have the pixels of the whole, wherever they are divided."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from clawperator.phone.render import raster
from clawperator.phone.render.drawing import Drawing, Fill, Stamp
from clawperator.phone.render.icons import icon_shapes
from clawperator.ui.node import Bounds

WIDTH, HEIGHT = 60, 90
RED, BLUE = 0xFF0000, 0x0000FF

_COLOURS = st.integers(0, 0xFFFFFF)
_AREAS = st.builds(
    lambda left, top, width, height: Bounds(left, top, left + width, top + height),
    st.integers(-20, 60),
    st.integers(-20, 90),
    st.integers(0, 60),
    st.integers(0, 60),
)
_STEPS = st.one_of(
    st.tuples(st.just("fill"), _AREAS, _COLOURS),
    st.tuples(st.just("rounded"), _AREAS, st.integers(-2, 30), _COLOURS),
    st.tuples(st.just("outline"), _AREAS, st.integers(-2, 30), st.integers(-2, 9), _COLOURS),
    st.tuples(st.just("gradient"), _AREAS, _COLOURS, _COLOURS),
    st.tuples(st.just("disc"), st.integers(-9, 70), st.integers(-9, 99), st.integers(0, 30), _COLOURS),
    st.tuples(
        st.just("icon"),
        st.sampled_from(sorted(icon_shapes())),
        st.integers(-9, 70),
        st.integers(-9, 99),
        st.integers(0, 40),
        _COLOURS,
    ),
    st.tuples(
        st.just("text"),
        st.integers(-9, 70),
        st.integers(-9, 99),
        st.text(max_size=5),
        st.integers(5, 30),
        _COLOURS,
    ),
    st.tuples(st.just("dim"), _COLOURS, st.floats(0, 1)),
)


def drawn(steps: list[tuple[object, ...]], clip: Bounds | None = None) -> Drawing:
    drawing = Drawing(WIDTH, HEIGHT, 0xFFFFFF)
    with drawing.clipped(clip or drawing.clip):
        for name, *arguments in steps:
            getattr(drawing, str(name))(*arguments)
    return drawing


def whole(drawing: Drawing) -> bytes:
    """The pixels of a drawing as a single band."""
    return raster.rasterise(raster.Band(drawing.width, drawing.height, tuple(drawing.operations)))


@pytest.mark.random
@settings(deadline=None)
@given(st.lists(_STEPS, max_size=8))
def test_the_bands_of_a_drawing_have_its_pixels(steps: list[tuple[object, ...]]) -> None:
    drawing = drawn(steps)
    bands = raster.bands(drawing)
    assert all(band.height > 0 for band in bands)
    assert b"".join(raster.pixels(drawing)) == whole(drawing)


@pytest.mark.random
@settings(deadline=None)
@given(st.lists(_STEPS, max_size=5), _AREAS)
def test_nothing_is_drawn_outside_the_clip(steps: list[tuple[object, ...]], clip: Bounds) -> None:
    steps = [step for step in steps if step[0] != "dim"]  # it changes what is drawn, not the clip
    pixels = whole(drawn(steps, clip))
    for y in range(HEIGHT):
        for x in range(WIDTH):
            if not clip.contains(x, y):
                at = 4 * (y * WIDTH + x)
                assert pixels[at : at + 4] == b"\xff\xff\xff\xff"


@pytest.mark.random
@settings(deadline=None)
@given(st.lists(_STEPS, max_size=4))
def test_the_joined_bands_are_a_png_with_the_pixels(steps: list[tuple[object, ...]]) -> None:
    drawing = drawn(steps)
    png = raster.join_parts(WIDTH, HEIGHT, map(raster.compress, raster.bands(drawing)))
    assert Image.open(io.BytesIO(png)).tobytes() == whole(drawing)


def test_edges_are_smooth() -> None:
    drawing = Drawing(WIDTH, HEIGHT, 0xFFFFFF)
    drawing.disc(30, 45, 20, 0)
    shades = set(whole(drawing)[::4])
    assert {0, 255} < shades
    assert len(shades) > 10


def test_a_list_row_is_the_same_band_wherever_it_is() -> None:
    found = []
    for y in (20, 37):
        drawing = Drawing(WIDTH, HEIGHT, 0xFFFFFF)
        drawing.text(4, y, "Row", 12, RED)
        found.append(
            {band for band in raster.bands(drawing) if any(isinstance(op, Stamp) for op in band.operations)}
        )
    assert found[0] == found[1]


def test_a_band_without_shapes_is_divided() -> None:
    drawing = Drawing(3, 3_000, BLUE)
    bands = raster.bands(drawing)
    assert len(bands) > 1
    assert {op for band in bands for op in band.operations} <= {Fill(0, 0, 3, band.height, BLUE) for band in bands}


def test_each_icon_has_its_own_shape() -> None:
    from clawperator.phone.render.icons import icon_mask

    masks = {name: icon_mask(name, 24).tobytes() for name in icon_shapes()}
    assert all(any(mask) for mask in masks.values())
    assert len(set(masks.values())) == len(masks)


@pytest.mark.parametrize("side", [1, 2, 3, 7, 24, 63, 200])
def test_icons_have_any_size(side: int) -> None:
    from clawperator.phone.render.icons import icon_mask

    for name in icon_shapes():
        assert icon_mask(name, side).size == (side, side)
