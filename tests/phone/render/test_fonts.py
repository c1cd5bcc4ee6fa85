"""Lines of text that fit, characters of the font, and the icons that labels stand for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.phone.render.drawing import colour_of, mix
from clawperator.phone.render.fonts import (
    ELLIPSIS,
    fit_lines,
    font_size,
    is_drawable,
    mask_size,
    text_mask,
    text_width,
)
from clawperator.phone.render.icons import UNNAMED, app_symbol, icon_name, icon_shapes


@pytest.mark.random
@given(st.text(max_size=60), st.integers(5, 60), st.integers(1, 300), st.integers(1, 4))
def test_lines_fit_or_end_in_an_ellipsis(text: str, size: int, width: int, most: int) -> None:
    lines, fits, _ = fit_lines(text, size, width, most)
    assert 1 <= len(lines) <= most
    if fits:
        assert all(text_width(line, size) <= width for line in lines)
        assert "".join("".join(lines).split()) == "".join(text.split())
    else:
        assert lines[-1].endswith(ELLIPSIS) or any(text_width(line, size) > width for line in lines)


def test_text_is_wrapped_at_spaces_and_long_words_inside() -> None:
    assert fit_lines("one two three", 20, text_width("one two", 20), 3) == (["one two", "three"], True, True)
    assert fit_lines("m" * 10, 20, text_width("mmmm", 20), 5) == (["mmmm", "mmmm", "mm"], True, False)
    assert fit_lines("one two three", 20, text_width("one two", 20), 1).lines[0].endswith(ELLIPSIS)


@pytest.mark.random
@given(st.text(max_size=20), st.integers(5, 50))
def test_a_mask_has_the_size_that_is_announced(text: str, size: int) -> None:
    assert text_mask(text, size).size == mask_size(text, size)


@pytest.mark.parametrize("text", ["é", "Ü", "ñ", "à", "â", "å", "É", "e\u0301"])
def test_accents_are_drawn(text: str) -> None:
    bare = {"é": "e", "Ü": "U", "ñ": "n", "à": "a", "â": "a", "å": "a", "É": "E", "e\u0301": "e"}[text]
    with_accent, without = text_mask(text, 40), text_mask(bare, 40)
    assert with_accent.size == without.size
    assert with_accent != without


@pytest.mark.parametrize(("text", "same"), [("a\u2013b", "a-b"), ("no\u00a0break", "no break"), ("\u200ba", "a")])
def test_similar_characters_replace_missing_ones(text: str, same: str) -> None:
    assert text_mask(text, 20) == text_mask(same, 20)


def test_unknown_characters_are_boxes() -> None:
    assert not is_drawable("日")
    assert not is_drawable("😀")
    assert is_drawable("é")
    assert text_mask("日", 20) == text_mask("😀", 20)
    assert text_mask("日", 20).getbbox() is not None


def test_a_font_size_is_never_too_small_or_too_large() -> None:
    assert [font_size(pixels) for pixels in (-3, 0, 20.4, 10_000)] == [5, 5, 20, 400]


@pytest.mark.parametrize(
    ("label", "icon"),
    [
        ("Search", "search"),
        ("Search settings", "search"),
        ("Navigate up", "back"),
        ("Back", "back"),
        ("Edit suggestion how to tie a tie", "north_west"),
        ("search_type_icon", "search"),
        ("Add note", "add"),
        ("Pause video", "pause"),
        ("More options", "more"),
        ("navigateHome", "home"),
        ("", ""),
        ("Quux", ""),
    ],
)
def test_an_icon_is_found_by_the_words_of_a_label(label: str, icon: str) -> None:
    assert icon_name(label) == icon


def test_every_name_of_an_icon_has_a_shape() -> None:
    from clawperator.phone.render import icons

    symbols = {name for name, _ in icons._APPS.values()}
    names = {*icons._WORDS.values(), *icons._PHRASES.values(), *UNNAMED, *symbols}
    assert names <= set(icon_shapes())


def test_built_in_apps_have_symbols_and_other_names_have_lasting_colours() -> None:
    assert app_symbol("Settings") is not None
    assert app_symbol("Door") is None
    assert colour_of("Door") == colour_of("Door")
    assert len({colour_of(f"app {number}") for number in range(50)}) > 5


def test_colours_are_mixed_by_channel() -> None:
    assert [mix(0x000000, 0xFF8000, part) for part in (0, 0.5, 1)] == [0, 0x804000, 0xFF8000]
